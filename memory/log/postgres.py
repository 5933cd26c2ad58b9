"""The log in PostgreSQL: for processes of several machines that share a memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..episode import Episode, EpisodeKey, LogEntry, Selection
from .postgres_database import (
    LAYOUT,
    PATIENCE_S,
    Connection,
    PostgresConnections,
    VectorType,
    escape_nul,
    layout_of,
    make_schema,
    quote_name,
    restore_nul,
    vector_type,
)
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

__all__ = ["PostgresLog"]

# `@` stands for the schema, `#in` and `#out` for the casts of vectors that are written and read.
_SELECT = "".join(["SELECT position, ", ", ".join(COLUMNS), " FROM @.episodes WHERE "])
_INSERT = "".join([
    "INSERT INTO @.episodes (position, ", ", ".join(COLUMNS), ") VALUES (%s, ",
    ", ".join(["%s"] * len(COLUMNS)),
    ") ON CONFLICT (namespace, run, step, attempt) DO NOTHING",
])  # fmt: skip
_TEXTS = "SELECT position, prompt, objective, error, excerpt FROM @.episodes WHERE "
_POSITIONS = "SELECT position FROM @.episodes WHERE "
_GIVE_POSITIONS = (
    "UPDATE @.state SET value = greatest(value, (SELECT max(position) FROM @.episodes)) "
    "WHERE name = 'last_position'"
)
_VECTORS = (
    "SELECT digest, vector#out FROM @.vectors JOIN @.embedders ON embedder = id "
    "WHERE name = %s AND digest = ANY(%s)"
)
_KEEP = (
    "INSERT INTO @.vectors (embedder, digest, vector) SELECT id, %s, %s#in FROM @.embedders "
    "WHERE name = %s AND EXISTS (SELECT 1 FROM @.episodes WHERE digest = %s) ON CONFLICT DO NOTHING"
)
_FORGET_VECTORS = (
    "DELETE FROM @.vectors v WHERE NOT EXISTS "
    "(SELECT 1 FROM @.episodes e WHERE e.digest = v.digest)"
)
_COUNT_FORGETTING = "UPDATE @.state SET value = value + 1 WHERE name = 'forgotten'"


class PostgresLog:
    """An `EpisodeLog` in a schema of a PostgreSQL database, in UTF-8.

    Attributes:
        vector_kind: `vector` (pgvector's) where the server has that extension, else `bytea`.

    Args:
        dsn: Where the database is: `postgresql://user@host/name`, or `host=… dbname=…`.
        schema: The schema; it and its tables are created if missing.
        patience_s: How long a call waits for other writers.

    Raises:
        MemoryStoreError: The server can't be reached or refuses, the database isn't in UTF-8, or a
            newer version made the schema.
    """

    vector_kind: VectorType

    def __init__(
        self, dsn: str, schema: str = "prefect_swarm", patience_s: float = PATIENCE_S
    ) -> None:
        self._server = PostgresConnections(dsn, schema, patience_s)
        self._schema_name = quote_name(schema).replace("%", "%%")
        try:
            if self._server.read(lambda db: layout_of(db, schema)) != LAYOUT:
                self._server.write(lambda db: make_schema(db, schema))
            kind, type_name = self._server.read(lambda db: vector_type(db, schema))
        except BaseException:
            self._server.close()
            raise
        self.vector_kind = kind
        self._casts = ("", "") if kind == "bytea" else (f"::real[]::{type_name}", "::real[]")

    def append(self, episodes: Iterable[Episode]) -> int:
        """Write episodes, all or none; see `EpisodeLog.append`."""
        rows = [_row(episode) for episode in episodes]

        def add(db: Connection) -> int:
            last = self._state(db, "last_position")
            with db.cursor() as cursor:
                numbered = ((last + number, *row) for number, row in enumerate(rows, start=1))
                cursor.executemany(self._sql(_INSERT), numbered)
                new = cursor.rowcount
            db.execute(self._sql(_GIVE_POSITIONS), ())
            return new

        return self._server.write(add) if rows else 0

    def get(self, namespace: str, key: EpisodeKey) -> LogEntry | None:
        """Return the entry with that key, or None."""
        where = "namespace = %s AND run = %s AND step = %s AND attempt = %s"
        found = self._entries(where, (namespace, *key))
        return found[0] if found else None

    def since(self, position: int, limit: int = 1000) -> list[LogEntry]:
        """Return up to `limit` entries of all namespaces after a position, by position."""
        return self._entries("position > %s ORDER BY position LIMIT %s", (position, max(limit, 0)))

    def at(self, positions: Sequence[int]) -> dict[int, Episode]:
        """Return the episodes at those positions; forgotten ones are left out."""
        found: dict[int, Episode] = {}
        for chunk in chunks(positions):
            found.update(self._entries("position = ANY(%s)", (list(chunk),)))
        return found

    def last_position(self) -> int:
        """Return the highest position ever assigned, forgotten episodes included; 0 if none."""
        return self._server.read(lambda db: self._state(db, "last_position"))

    def count(self, namespace: str | None = None) -> int:
        """Count the episodes of a namespace, or of all."""
        if namespace is None:
            return self._rows("SELECT count(*) FROM @.episodes")[0][0]
        query = "SELECT count(*) FROM @.episodes WHERE namespace = %s"
        return self._rows(query, (escape_nul(namespace),))[0][0]

    def select(self, namespace: str, which: Selection) -> list[LogEntry]:
        """Return the entries that match, by position; all of the namespace by default."""
        positions = self._server.read(lambda db: self._positions(db, namespace, which))
        found = self.at(positions)
        return [LogEntry(position, found[position]) for position in positions if position in found]

    def forget(self, namespace: str, which: Selection) -> tuple[int, ...]:
        """Remove episodes for good; see `EpisodeLog.forget`.

        The tables are written again without them and the old files removed. The server's WAL,
        replicas and backups may still hold them; removing them there is up to the administrator.

        Raises:
            InputError: The selection has no condition.
        """
        check_forgettable(which)

        def remove(db: Connection) -> tuple[int, ...]:
            positions = self._positions(db, namespace, which)
            if positions:
                db.execute(
                    self._sql("DELETE FROM @.episodes WHERE position = ANY(%s)"), (positions,)
                )
                db.execute(self._sql(_FORGET_VECTORS), ())
                db.execute(self._sql(_COUNT_FORGETTING), ())
            return tuple(positions)

        positions = self._server.write(remove)
        # Also if nothing matched: an earlier call may have been killed before this point.
        self.vacuum()
        return positions

    def forgotten(self) -> int:
        """Return how often something was forgotten."""
        return self._server.read(lambda db: self._state(db, "forgotten"))

    def vectors(self, embedder: str, digests: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        """Return the embeddings that are kept of those texts, by digest."""
        known = {packed: digest for digest in digests if (packed := bytes_of_digest(digest))}
        found: dict[str, NDArray[np.float32]] = {}
        for chunk in chunks(list(known)):
            for digest, vector in self._rows(_VECTORS, (escape_nul(embedder), list(chunk))):
                found[known[digest]] = (
                    np.frombuffer(vector, "<f4").astype(np.float32, copy=False)
                    if self.vector_kind == "bytea"
                    else np.array(vector, np.float32)
                )
        return found

    def keep_vectors(self, embedder: str, rows: Mapping[str, NDArray[np.float32]]) -> None:
        """Keep embeddings of texts that episodes have; existing ones are not overwritten."""
        name = escape_nul(embedder)
        packed = [
            (digest, self._packed(vector), name, digest)
            for text, vector in rows.items()
            if (digest := bytes_of_digest(text))
        ]

        def keep(db: Connection) -> None:
            known = "INSERT INTO @.embedders (name) VALUES (%s) ON CONFLICT DO NOTHING"
            db.execute(self._sql(known), (name,))
            with db.cursor() as cursor:
                cursor.executemany(self._sql(_KEEP), packed)

        if packed:
            self._server.write(keep)

    def vacuum(self) -> None:
        """Rewrite the tables without removed rows; meanwhile they can't be read."""
        for table in ("episodes", "vectors"):
            query = self._sql(f"VACUUM (FULL, ANALYZE) @.{table}")
            self._server.read(lambda db, query=query: db.execute(query, ()))

    def close(self) -> None:
        """Close the connections of all threads of this process."""
        self._server.close()

    def _sql(self, template: str) -> bytes:
        into, out = self._casts
        named = template.replace("#in", into).replace("#out", out).replace("@", self._schema_name)
        return named.encode()

    def _rows(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return self._server.read(lambda db: db.execute(self._sql(query), values).fetchall())

    def _entries(self, where: str, values: Sequence[Any]) -> list[LogEntry]:
        rows = self._rows(_SELECT + where, [escape_nul(value) for value in values])
        return [
            LogEntry(position, episode_of(position, [restore_nul(value) for value in values]))
            for position, *values in rows
        ]

    def _state(self, db: Connection, name: str) -> int:
        row = db.execute(self._sql("SELECT value FROM @.state WHERE name = %s"), (name,)).fetchone()
        return 0 if row is None else int(row[0])

    def _positions(self, db: Connection, namespace: str, which: Selection) -> list[int]:
        where = conditions(namespace, which, "%s")
        text = which.containing
        query = "".join([_POSITIONS if text is None else _TEXTS, where.sql, " ORDER BY position"])
        values = [escape_nul(value) for value in where.values]
        # A named cursor doesn't fetch all texts together.
        with db.transaction(), db.cursor("positions") as cursor:
            cursor.execute(self._sql(query), values)
            return [
                position
                for position, *texts in cursor
                if text is None or mentions(text, [restore_nul(field) for field in texts])
            ]

    def _packed(self, vector: NDArray[np.float32]) -> bytes | list[float]:
        if self.vector_kind == "bytea":
            return np.ascontiguousarray(vector, "<f4").tobytes()
        return [float(value) for value in vector]


def _row(episode: Episode) -> list[Any]:
    return [as_json(escape_nul(value)) for value in values_of(episode)]
