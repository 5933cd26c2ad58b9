"""The log in an SQLite file: for any number of processes on one machine."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import MemoryStoreError
from ..episode import Episode, EpisodeKey, LogEntry, Selection
from .rows import (
    COLUMNS,
    as_json,
    bytes_of_digest,
    check_forgettable,
    chunks,
    conditions,
    episode_of,
    mentions,
    values_of,
)
from .sqlite_database import PATIENCE_S, Connections, is_current, make_schema

__all__ = ["SqliteLog"]

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
