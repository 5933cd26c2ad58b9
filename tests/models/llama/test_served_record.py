"""A server is found by its record, as long as it lives and serves the same file."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from prefect_swarm.models.llama import served as records
from prefect_swarm.models.llama.api import EngineConfig
from prefect_swarm.models.llama.served import ServedRecord, find_record, new_record, published

CONFIG = EngineConfig(n_ctx=512)


@pytest.fixture
def model_file(tmp_path: Path) -> Path:
    (path := tmp_path / "model.gguf").write_bytes(b"weights")
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "served"


def written(folder: Path, model_file: Path, **changes: Any) -> ServedRecord:
    """A record as another living process would have written it."""
    record = new_record(model_file, "http://127.0.0.1:1", CONFIG)
    record = record.model_copy(update={"pid": os.getppid(), **changes})
    folder.mkdir(exist_ok=True)
    (folder / f"{record.pid}.json").write_text(record.model_dump_json())
    return record


def test_a_living_server_of_the_file_is_found(folder: Path, model_file: Path) -> None:
    record = written(folder, model_file)
    assert find_record(folder, model_file, CONFIG) == record
    assert find_record(folder, model_file, EngineConfig(n_ctx=256)) == record


@pytest.mark.parametrize(
    "changes",
    [{"path": "/other.gguf"}, {"size": 1}, {"mtime_ns": 1}, {"machine": "other"}, {"n_ctx": 511}],
)
def test_another_file_machine_or_a_smaller_context_is_not(
    folder: Path, model_file: Path, changes: dict[str, Any]
) -> None:
    written(folder, model_file, **changes)
    assert find_record(folder, model_file, CONFIG) is None


def test_a_process_does_not_ask_itself(folder: Path, model_file: Path) -> None:
    written(folder, model_file, pid=os.getpid())
    assert find_record(folder, model_file, CONFIG) is None


def test_a_dead_process_record_is_removed(folder: Path, model_file: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    record = written(folder, model_file, pid=ended.pid)
    assert find_record(folder, model_file, CONFIG) is None
    assert not (folder / f"{record.pid}.json").exists()


def test_a_record_of_another_machine_is_left(folder: Path, model_file: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    written(folder, model_file, pid=ended.pid, machine="other")
    assert find_record(folder, model_file, CONFIG) is None
    assert len(list(folder.iterdir())) == 1


def test_another_users_record_is_not_trusted(
    folder: Path, model_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(folder, model_file)
    monkeypatch.setattr(records.os, "getuid", lambda: 12345)
    assert find_record(folder, model_file, CONFIG) is None


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pid": 1}'])
def test_a_damaged_record_is_passed_over(folder: Path, model_file: Path, text: str) -> None:
    record = written(folder, model_file)
    (folder / "0.json").write_text(text)
    assert find_record(folder, model_file, CONFIG) == record


def test_a_record_is_its_owners_alone_and_goes_with_the_server(
    folder: Path, model_file: Path
) -> None:
    record = new_record(model_file, "http://127.0.0.1:1", CONFIG)
    with published(folder, record):
        (file,) = folder.iterdir()
        assert file.stat().st_mode & 0o777 == 0o600
        assert folder.stat().st_mode & 0o077 == 0
    assert not file.exists()


def test_the_record_of_a_later_server_stays(folder: Path, model_file: Path) -> None:
    record = new_record(model_file, "http://127.0.0.1:1", CONFIG)
    with published(folder, record):
        later = written(folder, model_file, pid=record.pid)
    assert (folder / f"{later.pid}.json").exists()


def test_each_server_has_a_token_of_its_own(model_file: Path) -> None:
    made = {new_record(model_file, "http://127.0.0.1:1", CONFIG).token for _ in range(3)}
    assert len(made) == 3
