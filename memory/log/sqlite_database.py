"""The SQLite file of a log: its layout, and connections of many processes."""

from __future__ import annotations

import os
import random
import sqlite3
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TypeVar

from ...errors import ForgettingUnfinishedError, MemoryStoreError
from ...files import OWNER_ONLY, close_to_others, make_folder
from .per_thread import PerThread

__all__ = ["APPLICATION_ID", "LAYOUT", "PATIENCE_S", "Connections", "is_current", "make_schema"]


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


PATIENCE_S = 60.0
"""How long a call waits for other writers before it gives up."""

_BUSY_TIMEOUT_S = 10.0
_LARGEST_WAL = 16 * 2**20
_T = TypeVar("_T")
_EMPTY_WAL = "PRAGMA wal_checkpoint(TRUNCATE)"

_DAMAGED = (
    "To start with an empty memory, move the file away with its -wal and -shm. To save what can "
    "be read: sqlite3 {path} .recover | sqlite3 rescued.sqlite"
)
_PROBLEMS: dict[int, tuple[str, str]] = {
    sqlite3.SQLITE_BUSY: (
        "is locked by another process",
        "See which process has it open: fuser {path}",
    ),
    sqlite3.SQLITE_LOCKED: ("is locked by another thread", "Try again."),
    sqlite3.SQLITE_CORRUPT: ("is damaged", _DAMAGED),
    sqlite3.SQLITE_NOTADB: ("is damaged, or not an SQLite file", _DAMAGED),
    sqlite3.SQLITE_FULL: ("can't grow", "Free space on its disk."),
    sqlite3.SQLITE_READONLY: ("can't be written", "Check the permissions of its folder."),
    sqlite3.SQLITE_CANTOPEN: ("can't be opened", "Check the permissions of its folder."),
    sqlite3.SQLITE_IOERR: ("can't be read or written", "Check whether its disk is failing."),
}
_WAITED_FOR = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL})


class Connections:
    """Opens a file for each thread and process that asks, and closes all at once.

    Args:
        path: The file; it and its folder are created if missing.
        patience_s: How long to wait for other writers.

    Raises:
        MemoryStoreError: The folder can't be created.
    """

    def __init__(self, path: Path, patience_s: float = PATIENCE_S) -> None:
        self.path = path
        self._patience_s = patience_s
        # Not a bound method: a reference cycle would be closed late, and in any order.
        open_connection = partial(_open, path, min(_BUSY_TIMEOUT_S, patience_s))
        self._connections = PerThread(open_connection, sqlite3.Connection.close)
        try:
            make_folder(path.parent)
            _close_to_others(path)
        except OSError as error:
            raise MemoryStoreError(
                f"The memory's folder {path.parent} can't be made: {error.strerror}.",
                "Name another folder, or check the permissions of this folder.",
            ) from error

    def read(self, work: Callable[[sqlite3.Connection], _T]) -> _T:
        """Do what needs no transaction; retry while the file is locked."""
        return self._retry_while_locked(work)

    def write(self, work: Callable[[sqlite3.Connection], _T]) -> _T:
        """Do it in a write transaction; `work` may be called more than once.

        Raises:
            MemoryStoreError: The file can't be opened, read or written; nothing was changed.
        """

        def transaction(db: sqlite3.Connection) -> _T:
            db.execute("BEGIN IMMEDIATE")
            try:
                done = work(db)
                db.execute("COMMIT")
            except BaseException:
                # A failed COMMIT may have rolled back already.
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise
            return done

        return self._retry_while_locked(transaction)

    def check_end(self) -> None:
        """Check that the last page is complete, which SQLite itself doesn't.

        The file is not opened for that: closing it would release SQLite's locks on it.

        Raises:
            MemoryStoreError: Part of it is missing.
        """
        page = self.read(lambda db: db.execute("PRAGMA page_size").fetchone()[0])
        wal = self.path.with_name(f"{self.path.name}-wal")
        # What is in the WAL may not be in the file yet.
        waiting = wal.exists() and wal.stat().st_size
        if not waiting and self.path.exists() and self.path.stat().st_size % page:
            raise MemoryStoreError(
                f"The memory {self.path} is damaged: it ends in the middle of a page.",
                _DAMAGED.format(path=self.path),
            )

    def rewrite(self) -> None:
        """Write the file again without what was removed, and empty its WAL.

        Raises:
            ForgettingUnfinishedError: Another process keeps reading: the bytes of what was removed
                stay, in the file itself and in its WAL.
            MemoryStoreError: The file can't be written.
        """
        self.read(lambda db: db.execute("VACUUM"))
        if self.read(lambda db: db.execute(_EMPTY_WAL).fetchone()[0]):
            wal = self.path.with_name(f"{self.path.name}-wal")
            raise ForgettingUnfinishedError(
                f"What was removed from {self.path} is no longer found, but its bytes are still in "
                f"{self.path} and {wal}: another process is still reading.",
                f"See which process that is: fuser {self.path}. When it has ended: prefect-swarm "
                "memory vacuum",
                (str(self.path), str(wal)),
            )

    def close(self) -> None:
        """Close the connections of all threads. The log can't be used afterwards."""
        self._connections.close()

    def _retry_while_locked(self, work: Callable[[sqlite3.Connection], _T]) -> _T:
        deadline = time.monotonic() + self._patience_s
        while not self._connections.closed:
            try:
                return work(self._connections.get())
            except sqlite3.Error as error:
                late = time.monotonic() > deadline
                if late or _code(error) not in _WAITED_FOR:
                    raise self._problem(error) from error
            time.sleep(random.uniform(0.005, 0.05))  # noqa: S311
        raise MemoryStoreError(f"The memory {self.path} has been closed.")

    def _problem(self, error: sqlite3.Error) -> MemoryStoreError:
        what, fix = _PROBLEMS.get(_code(error), ("can't be used", ""))
        return MemoryStoreError(
            f"The memory {self.path} {what}: {error}.", fix.format(path=self.path)
        )


def _close_to_others(path: Path) -> None:
    """Make the file its owner's alone before SQLite does: its -wal and -shm take its mode."""
    for name in (path.name, f"{path.name}-wal", f"{path.name}-shm"):
        close_to_others(path.with_name(name))
    # Not opened where it is there: closing it would release SQLite's locks on it. SQLite says what
    # else is wrong.
    with suppress(OSError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, OWNER_ONLY))


def _open(path: Path, timeout_s: float) -> sqlite3.Connection:
    connection = sqlite3.connect(
        path, timeout=timeout_s, isolation_level=None, check_same_thread=False
    )
    try:
        # FULL: an attempt is on the disk before any process sees it in the log.
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute(f"PRAGMA journal_size_limit = {_LARGEST_WAL}")
    except BaseException:
        connection.close()
        raise
    return connection


def _code(error: sqlite3.Error) -> int:
    """Return SQLite's primary result code, 0 if the error is Python's own."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF
