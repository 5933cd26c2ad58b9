"""The layout of the SQLite log."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from ...errors import MemoryStoreError

__all__ = ["APPLICATION_ID", "LAYOUT", "is_current", "make_schema"]

LAYOUT = 1
"""The layout that this version reads and writes; a file stores it in `PRAGMA user_version`."""
APPLICATION_ID = 0x53574D31
"""Marks a file as a memory's log."""

_TABLES = """
CREATE TABLE episodes (
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    schema_version INTEGER NOT NULL,
    namespace TEXT NOT NULL,
    run TEXT NOT NULL,
    step TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    objective TEXT NOT NULL,
    task_type TEXT NOT NULL,
    output TEXT NOT NULL,
    prompt TEXT NOT NULL,
    digest BLOB NOT NULL,
    persona TEXT NOT NULL,
    tier TEXT NOT NULL,
    model TEXT NOT NULL,
    revision INTEGER NOT NULL,
    cause TEXT,
    decision TEXT,
    rule TEXT NOT NULL,
    succeeded INTEGER NOT NULL,
    category TEXT,
    error TEXT NOT NULL,
    gates TEXT NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    started_at REAL NOT NULL,
    ended_at REAL NOT NULL,
    duration_s REAL NOT NULL,
    reward REAL NOT NULL,
    terms TEXT NOT NULL,
    upstream TEXT NOT NULL,
    downstream TEXT NOT NULL,
    used TEXT NOT NULL,
    artifact TEXT NOT NULL,
    excerpt TEXT NOT NULL,
    UNIQUE (namespace, run, step, attempt)
);
CREATE INDEX episodes_by_digest ON episodes (digest);
CREATE TABLE embedders (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE vectors (
    embedder INTEGER NOT NULL REFERENCES embedders (id),
    digest BLOB NOT NULL,
    vector BLOB NOT NULL,
    UNIQUE (digest, embedder)
);
CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO meta (name, value) VALUES ('forgotten', 0)
"""


def is_current(db: sqlite3.Connection) -> bool:
    """Whether the file has the current layout; reads only its first page."""
    return _number(db, "user_version") == LAYOUT and _number(db, "application_id") == APPLICATION_ID


def make_schema(db: sqlite3.Connection, path: Path) -> None:
    """Create the tables of a new file; the caller holds a write transaction.

    Raises:
        MemoryStoreError: The file is not a memory's log, or another version wrote it.
    """
    if is_current(db):
        return
    if _number(db, "application_id") == APPLICATION_ID:
        raise MemoryStoreError(
            f"{path} was written by another version of Prefect Swarm: its layout is "
            f"{_number(db, 'user_version')}, and this version knows {LAYOUT}.",
            "Use that version (the newest: pip install -U prefect-swarm), or name another file. "
            "The file is unchanged.",
        )
    if db.execute("SELECT COUNT(*) FROM sqlite_schema").fetchone()[0]:
        raise MemoryStoreError(
            f"{path} is a database of something else, not a memory.",
            "Name another file, or move this file away.",
        )
    # `executescript` would commit first.
    for statement in _TABLES.split(";"):
        db.execute(statement)
    # Both pragmas are part of the transaction.
    db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    db.execute(f"PRAGMA user_version = {LAYOUT}")


def _number(db: sqlite3.Connection, pragma: str) -> int:
    return db.execute(f"PRAGMA {pragma}").fetchone()[0]
