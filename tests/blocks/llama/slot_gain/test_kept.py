"""What was measured is found again for the same file and machine; what can't be read is absent."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from prefect_swarm.blocks.llama import EngineConfig
from prefect_swarm.blocks.llama.slot_gain import kept
from prefect_swarm.blocks.llama.slot_gain.kept import (
    SlotMeasurement,
    kept_path,
    read_kept,
    write_kept,
)

pytestmark = pytest.mark.usefixtures("swarm_home")

CONFIG = EngineConfig(n_threads=2)
MEASURED = SlotMeasurement(steps={1: 0.5, 2: 0.75}, tried_at=7.0)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.gguf"
    path.write_bytes(b"weights")
    return path


def test_what_was_kept_is_read(model: Path) -> None:
    path = kept_path(model, CONFIG)
    assert read_kept(path) is None
    assert write_kept(path, MEASURED)
    assert read_kept(path) == MEASURED


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\x00",
        b"[]",
        b'{"steps": {"1": 0.5}',
        b'{"steps": {"1": -1}, "tried_at": 0}',
        b'{"steps": {"1": NaN}, "tried_at": 0}',
        b'{"steps": {"many": 1}, "tried_at": 0}',
    ],
)
def test_what_cannot_be_read_is_absent(model: Path, content: bytes) -> None:
    path = kept_path(model, CONFIG)
    write_kept(path, MEASURED)
    path.write_bytes(content)
    assert read_kept(path) is None


def test_a_folder_that_cannot_be_made_costs_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert not write_kept(tmp_path / "file" / "x.json", MEASURED)
    assert read_kept(tmp_path / "file" / "x.json") is None


def test_context_and_slots_change_nothing(model: Path) -> None:
    other = EngineConfig(n_threads=2, n_ctx=99, n_slots=9, seed=3, keep_loaded=True)
    assert kept_path(model, other) == kept_path(model, CONFIG)


def test_another_way_to_compute_is_measured_anew(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = [kept_path(model, CONFIG), kept_path(model, EngineConfig(n_threads=3))]
    monkeypatch.setattr(kept, "processor_name", lambda: "another processor")
    found.append(kept_path(model, CONFIG))
    monkeypatch.setattr(kept, "version", dict.fromkeys(["llama-cpp-python"], "another").get)
    found.append(kept_path(model, CONFIG))
    os.utime(model, (5, 5))
    found.append(kept_path(model, CONFIG))
    model.write_bytes(b"other weights")
    found.append(kept_path(model, CONFIG))
    assert len({*found}) == len(found)
