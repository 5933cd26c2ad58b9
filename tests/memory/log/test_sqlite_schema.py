"""A log has the layout of the version that made it, and no other version touches it."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from prefect_swarm.errors import MemoryStoreError
from prefect_swarm.memory.log.sqlite import APPLICATION_ID, LAYOUT, SqliteLog


@pytest.fixture
def path(quick_folder: Path) -> Path:
    """A log that was made and closed."""
    made = quick_folder / "log"
    SqliteLog(made).close()
    return made


def pragma(path: Path, name: str) -> int:
    db = sqlite3.connect(path)
    (value,) = db.execute(f"PRAGMA {name}").fetchone()
    db.close()
    return value


def change(path: Path, statement: str) -> bytes:
    """Change the file and return all that it then holds."""
    with sqlite3.connect(path) as db:
        db.execute(statement)
    db.close()
    return path.read_bytes()


def test_a_new_log_has_the_layout_and_the_mark(path: Path) -> None:
    assert pragma(path, "user_version") == LAYOUT
    assert pragma(path, "application_id") == APPLICATION_ID


@pytest.mark.parametrize("other", [LAYOUT - 1, LAYOUT + 1])
def test_another_layout_is_refused_and_left_alone(path: Path, other: int) -> None:
    before = change(path, f"PRAGMA user_version = {other}")
    with pytest.raises(MemoryStoreError, match=f"its layout is {other}") as caught:
        SqliteLog(path)
    assert "pip install -U" in caught.value.fix
    assert path.read_bytes() == before


def test_a_log_without_the_mark_is_something_else(path: Path) -> None:
    before = change(path, "PRAGMA application_id = 0")
    with pytest.raises(MemoryStoreError, match="a database of something else"):
        SqliteLog(path)
    assert path.read_bytes() == before
