"""The log in an SQLite file: for any number of processes on one machine."""

from __future__ import annotations

import os
import random
import sqlite3
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...errors import ForgettingUnfinishedError, MemoryStoreError
from ...files import OWNER_ONLY, close_to_others, make_folder
from ..episode import Episode, EpisodeKey, LogEntry, Selection
from .rows import (
    COLUMNS,
    PerThread,
    as_json,
    bytes_of_digest,
    check_forgettable,
    chunks,
    conditions,
    episode_of,
    mentions,
    values_of,
)

__all__ = [
    "APPLICATION_ID",
    "LAYOUT",
    "PATIENCE_S",
    "Connections",
    "SqliteLog",
    "is_current",
    "make_schema",
]


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
    """Opens a file for each thread and process that asks, and closes all together.

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


_PAGE = 8192

_SELECT = "".join(["SELECT position, ", ", ".join(COLUMNS), " FROM episodes WHERE "])
# ON CONFLICT DO NOTHING would use up a position for an episode that exists.
_INSERT = "".join([
    "INSERT INTO episodes (", ", ".join(COLUMNS), ") SELECT ", ", ".join("?" * len(COLUMNS)),
    " WHERE NOT EXISTS (SELECT 1 FROM episodes WHERE namespace = ? AND run = ? AND step = ?"
    " AND attempt = ?)",
])  # fmt: skip
_POSITIONS = "SELECT position FROM episodes WHERE "
_TEXTS = "SELECT position, prompt, objective, error, excerpt FROM episodes WHERE "
_KEEP = (
    "INSERT INTO vectors (embedder, digest, vector) "
    "SELECT id, ?, ? FROM embedders WHERE name = ? "
    "AND EXISTS (SELECT 1 FROM episodes WHERE digest = ?) ON CONFLICT DO NOTHING"
)
_FORGET_VECTORS = (
    "DELETE FROM vectors WHERE NOT EXISTS "
    "(SELECT 1 FROM episodes WHERE episodes.digest = vectors.digest)"
)


class SqliteLog:
    """An `EpisodeLog` in one file, in WAL mode, safe for any number of threads and processes.

    The file has to be on a local disk: SQLite's WAL doesn't work over a network.

    Args:
        path: The file; it and its folder are created if missing.
        patience_s: How long a call waits for other writers.

    Raises:
        MemoryStoreError: The file can't be opened or made, is damaged, is not a log, or was
            written by another version.
    """

    def __init__(self, path: Path | str, patience_s: float = PATIENCE_S) -> None:
        self.path = Path(path)
        self._file = Connections(self.path, patience_s)
        try:
            self._file.check_end()
            if not self._file.read(is_current):
                self._file.read(self._use_wal)
                self._file.write(lambda db: make_schema(db, self.path))
        except BaseException:
            self._file.close()
            raise

    def append(self, episodes: Iterable[Episode]) -> int:
        """Write episodes, all or none; see `EpisodeLog.append`."""
        rows = [
            (*map(as_json, values_of(episode)), episode.namespace, *episode.key)
            for episode in episodes
        ]
        if not rows:
            return 0
        return self._file.write(lambda db: db.executemany(_INSERT, rows).rowcount)

    def get(self, namespace: str, key: EpisodeKey) -> LogEntry | None:
        """Return the entry with that key, or None."""
        found = self._entries(
            "namespace = ? AND run = ? AND step = ? AND attempt = ?", (namespace, *key)
        )
        return found[0] if found else None

    def since(self, position: int, limit: int = 1000) -> list[LogEntry]:
        """Return up to `limit` entries of all namespaces after a position, by position."""
        return self._entries("position > ? ORDER BY position LIMIT ?", (position, max(limit, 0)))

    def at(self, positions: Sequence[int]) -> dict[int, Episode]:
        """Return the episodes at those positions; forgotten ones are left out."""
        found: dict[int, Episode] = {}
        for chunk in chunks(positions):
            found.update(self._entries(_in_clause("position", chunk), tuple(chunk)))
        return found

    def last_position(self) -> int:
        """Return the highest position ever assigned, forgotten episodes included; 0 if none."""
        rows = self._rows("SELECT seq FROM sqlite_sequence WHERE name = 'episodes'")
        return rows[0][0] if rows else 0

    def count(self, namespace: str | None = None) -> int:
        """Count the episodes of a namespace, or of all."""
        if namespace is None:
            return self._rows("SELECT COUNT(*) FROM episodes")[0][0]
        return self._rows("SELECT COUNT(*) FROM episodes WHERE namespace = ?", (namespace,))[0][0]

    def select(self, namespace: str, which: Selection) -> list[LogEntry]:
        """Return the entries that match, by position; all of the namespace by default."""
        positions = self._file.read(lambda db: _positions(db, namespace, which))
        found = self.at(positions)
        return [LogEntry(position, found[position]) for position in positions if position in found]

    def forget(self, namespace: str, which: Selection) -> tuple[int, ...]:
        """Remove episodes for good; see `EpisodeLog.forget`.

        Raises:
            InputError: The selection has no condition.
            ForgettingUnfinishedError: They are removed, and a reader keeps their bytes.
            MemoryStoreError: Nothing was removed.
        """
        check_forgettable(which)
        positions = self._file.write(lambda db: _remove(db, namespace, which))
        # Deleting overwrites rows, but copies from splitting index pages stay until the file is
        # rewritten. Also if nothing matched: an earlier call may have been killed before this.
        self.vacuum()
        return positions

    def forgotten(self) -> int:
        """Return how often something was forgotten."""
        return self._rows("SELECT value FROM meta WHERE name = 'forgotten'")[0][0]

    def vectors(self, embedder: str, digests: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        """Return the embeddings that are kept of those texts, by digest; they are read-only."""
        known = {packed: digest for digest in digests if (packed := bytes_of_digest(digest))}
        found: dict[str, NDArray[np.float32]] = {}
        for chunk in chunks(list(known)):
            query = "".join([
                "SELECT digest, vector FROM vectors JOIN embedders ON embedder = id ",
                "WHERE name = ? AND ", _in_clause("digest", chunk),
            ])  # fmt: skip
            for digest, vector in self._rows(query, (embedder, *chunk)):
                found[known[digest]] = np.frombuffer(vector, "<f4").astype(np.float32, copy=False)
        return found

    def keep_vectors(self, embedder: str, rows: Mapping[str, NDArray[np.float32]]) -> None:
        """Keep embeddings of texts that episodes have; existing ones are not overwritten."""
        packed = [
            (digest, np.ascontiguousarray(vector, "<f4").tobytes(), embedder, digest)
            for name, vector in rows.items()
            if (digest := bytes_of_digest(name))
        ]

        def keep(db: sqlite3.Connection) -> None:
            db.execute("INSERT INTO embedders (name) VALUES (?) ON CONFLICT DO NOTHING", [embedder])
            db.executemany(_KEEP, packed)

        if packed:
            self._file.write(keep)

    def vacuum(self) -> None:
        """Rewrite the file without removed rows; takes seconds for 100,000 episodes.

        Raises:
            ForgettingUnfinishedError: A reader keeps the bytes of removed rows.
        """
        self._file.rewrite()

    def close(self) -> None:
        """Close the file for all threads of this process."""
        self._file.close()

    def _use_wal(self, db: sqlite3.Connection) -> None:
        # For a new file: usual episodes take 15 % less space than in pages of half the size.
        db.execute(f"PRAGMA page_size = {_PAGE}")
        if db.execute("PRAGMA journal_mode = WAL").fetchone()[0] != "wal":
            raise MemoryStoreError(
                f"{self.path} can't be shared by several processes: its disk doesn't support it.",
                "Choose a folder on a local disk.",
            )

    def _rows(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        return self._file.read(lambda db: db.execute(query, values).fetchall())

    def _entries(self, where: str, values: Sequence[Any]) -> list[LogEntry]:
        rows = self._rows(_SELECT + where, values)
        return [LogEntry(position, episode_of(position, values)) for position, *values in rows]


def _in_clause(column: str, values: Sequence[Any]) -> str:
    return f"{column} IN ({', '.join('?' * len(values))})"


def _positions(db: sqlite3.Connection, namespace: str, which: Selection) -> list[int]:
    where = conditions(namespace, which, "?")
    text = which.containing
    query = [_POSITIONS if text is None else _TEXTS, where.sql, " ORDER BY position"]
    rows = db.execute("".join(query), where.values)
    return [position for position, *texts in rows if text is None or mentions(text, texts)]


def _remove(db: sqlite3.Connection, namespace: str, which: Selection) -> tuple[int, ...]:
    positions = _positions(db, namespace, which)
    if positions:
        db.executemany(
            "DELETE FROM episodes WHERE position = ?", [(position,) for position in positions]
        )
        db.execute(_FORGET_VECTORS)
        db.execute("UPDATE meta SET value = value + 1 WHERE name = 'forgotten'")
    return tuple(positions)
