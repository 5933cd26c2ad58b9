"""A database is its owner's alone, and so is all that SQLite puts beside it."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from prefect_swarm.memory.log.sqlite import SqliteLog
from prefect_swarm.memory.personas.store import PersonaStore

OPENED: dict[str, Callable[[Path], SqliteLog | PersonaStore]] = {
    "episodes": SqliteLog,
    "personas": PersonaStore,
}


def modes(folder: Path) -> dict[str, str]:
    return {path.name: oct(stat.S_IMODE(path.stat().st_mode)) for path in folder.iterdir()}


@pytest.mark.attack("private")
@pytest.mark.parametrize("umask", [0o000, 0o022])
@pytest.mark.parametrize("kind", OPENED)
def test_a_new_one_and_its_wal(kind: str, umask: int, tmp_path: Path) -> None:
    before = os.umask(umask)
    try:
        opened = OPENED[kind](tmp_path / "memory" / "file.sqlite")
        found = modes(tmp_path / "memory")
    finally:
        os.umask(before)
    opened.close()
    assert {"file.sqlite", "file.sqlite-wal", "file.sqlite-shm"} <= set(found)
    assert set(found.values()) == {"0o600"}


@pytest.mark.attack("private")
@pytest.mark.parametrize("kind", OPENED)
def test_an_older_ones_files_are_closed_when_it_is_opened(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "file.sqlite"
    first = OPENED[kind](path)
    for each in tmp_path.iterdir():
        each.chmod(0o644)
    second = OPENED[kind](path)
    found = modes(tmp_path)
    first.close()
    second.close()
    assert set(found.values()) == {"0o600"}
