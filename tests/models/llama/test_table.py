"""Measured speeds are found again for the same file and machine; unreadable ones are absent."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from prefect_swarm.models.llama import slot_speeds as table
from prefect_swarm.models.llama.api import EngineConfig
from prefect_swarm.models.llama.slot_speeds import SlotTable, read_table, table_path, write_table

pytestmark = pytest.mark.usefixtures("swarm_home")

CONFIG = EngineConfig(n_threads=2)
TABLE = SlotTable(speeds={1: 2.0, 2: 3.0}, measured_at=7.0)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.gguf"
    path.write_bytes(b"weights")
    return path


def test_what_was_kept_is_read(model: Path) -> None:
    path = table_path(model, CONFIG)
    assert read_table(path) is None
    assert write_table(path, TABLE)
    assert read_table(path) == TABLE


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\x00",
        b"[]",
        b'{"speeds": {"1": 0.5}',
        b'{"speeds": {"1": -1}, "measured_at": 0}',
        b'{"speeds": {"1": NaN}, "measured_at": 0}',
        b'{"speeds": {"many": 1}, "measured_at": 0}',
        b'{"steps": {"1": 0.5}, "measured_at": 0}',
    ],
)
def test_what_cannot_be_read_is_absent(model: Path, content: bytes) -> None:
    path = table_path(model, CONFIG)
    write_table(path, TABLE)
    path.write_bytes(content)
    assert read_table(path) is None


def test_a_folder_that_cannot_be_made_costs_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert not write_table(tmp_path / "file" / "x.json", TABLE)
    assert read_table(tmp_path / "file" / "x.json") is None


def test_another_count_of_processors_is_measured_anew(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths: set[Path] = set()
    for cores in (1, 2, 4):
        monkeypatch.setattr(table, "usable_cores", lambda cores=cores: cores)
        paths.add(table_path(model, EngineConfig()))
    assert len(paths) == 3


def test_context_and_slots_change_nothing(model: Path) -> None:
    other = EngineConfig(n_threads=2, n_ctx=99, n_slots=9, seed=3, keep_loaded=True)
    assert table_path(model, other) == table_path(model, CONFIG)


def test_another_way_to_compute_is_measured_anew(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = [table_path(model, CONFIG), table_path(model, EngineConfig(n_threads=3))]
    monkeypatch.setattr(table, "processor_name", lambda: "another processor")
    found.append(table_path(model, CONFIG))
    monkeypatch.setattr(table, "version", dict.fromkeys(["llama-cpp-python"], "another").get)
    found.append(table_path(model, CONFIG))
    os.utime(model, (5, 5))
    found.append(table_path(model, CONFIG))
    model.write_bytes(b"other weights")
    found.append(table_path(model, CONFIG))
    assert len({*found}) == len(found)
