"""The PostgreSQL database of a log: its layout, its connections, and texts as it can store them."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any, Literal, TypeVar, cast

from ...errors import MemoryStoreError
from .rows import PerThread

try:
    import psycopg

    from ...host.postgres import (
        Connection,
        advice_of,
        lock_number,
        message_of,
        open_connection,
        quote_name,
        shown_address,
    )
except ImportError as error:
    raise MemoryStoreError(
        f"The memory is in PostgreSQL, but its driver can't be loaded: {error}.",
        "Install it: pip install 'prefect-swarm[postgres]'",
    ) from error

__all__ = [
    "LAYOUT",
    "PATIENCE_S",
    "Connection",
    "PostgresConnections",
    "VectorType",
    "escape_nul",
    "layout_of",
    "make_schema",
    "quote_name",
    "restore_nul",
    "vector_type",
]


_SUB = "\x1a"
_ESCAPES = {"\x00": f"{_SUB}0", _SUB: f"{_SUB}1"}
_ORIGINALS = {escape: original for original, escape in _ESCAPES.items()}


def escape_nul(value: Any) -> Any:
    """Escape NUL in a text, or in all texts in lists and objects."""
    return _replace_in_texts(value, re.compile("[\x00\x1a]"), _ESCAPES)


def restore_nul(value: Any) -> Any:
    """Undo `escape_nul`."""
    return _replace_in_texts(value, re.compile("\x1a[01]"), _ORIGINALS)


def _replace_in_texts(value: Any, pattern: re.Pattern[str], table: dict[str, str]) -> Any:
    if isinstance(value, str):
        return pattern.sub(lambda found: table[found.group()], value)
    if isinstance(value, list):
        return [_replace_in_texts(part, pattern, table) for part in cast("list[Any]", value)]
    if isinstance(value, dict):
        return {
            _replace_in_texts(name, pattern, table): _replace_in_texts(part, pattern, table)
            for name, part in cast("dict[str, Any]", value).items()
        }
    return value


PATIENCE_S = 60.0
"""How long a call waits for other writers before it gives up."""

_T = TypeVar("_T")


class PostgresConnections:
    """Opens a connection for each thread and process that asks.

    Args:
        dsn: Where the server is, as a URI or as `host=… dbname=…`.
        schema: The schema whose writers take turns.
        patience_s: How long to wait for other writers.
    """

    def __init__(self, dsn: str, schema: str, patience_s: float = PATIENCE_S) -> None:
        self._dsn = dsn
        self._turn = lock_number(f"prefect_swarm.memory.{schema}")
        # Not a bound method: a reference cycle would be closed late, and in any order.
        open_connection = partial(_open, dsn, patience_s)
        self._connections = PerThread(open_connection, psycopg.Connection[Any].close)

    def read(self, work: Callable[[Connection], _T]) -> _T:
        """Do what needs no transaction; try again if the connection was lost.

        Raises:
            MemoryStoreError: The server can't be reached, or refuses.
        """
        if self._connections.closed:
            raise MemoryStoreError(f"The memory at {self} has been closed.")
        try:
            connection = self._connections.get()
            try:
                return work(connection)
            except psycopg.OperationalError:
                if not connection.broken:
                    raise
                self._connections.drop()
                return work(self._connections.get())
        except psycopg.Error as error:
            raise self._problem(error) from error

    def write(self, work: Callable[[Connection], _T]) -> _T:
        """Do it in a transaction while nothing else writes; `work` may be called more than once.

        A commit is visible before the next writer starts, so no reader ever sees a later position
        before an earlier one.
        """

        def transaction(db: Connection) -> _T:
            with db.transaction():
                db.execute("SELECT pg_advisory_xact_lock(%s)", (self._turn,))
                return work(db)

        return self.read(transaction)

    def close(self) -> None:
        """Close the connections of all threads. The log can't be used afterwards."""
        self._connections.close()

    def __str__(self) -> str:
        """Say where the server is, without the password."""
        return shown_address(self._dsn)

    def _problem(self, error: Exception) -> MemoryStoreError:
        message = message_of(error, self._dsn)
        return MemoryStoreError(f"The memory at {self} can't be used: {message}.", advice_of(error))


def _open(dsn: str, patience_s: float) -> Connection:
    connection = open_connection(dsn, connect_timeout=max(1, round(patience_s)))
    try:
        timeout = f"{max(1, round(patience_s * 1000))}ms"
        connection.execute("SELECT set_config('lock_timeout', %s, false)", (timeout,))
    except BaseException:
        connection.close()
        raise
    return connection


LAYOUT = 1
"""The layout that this version writes; it is stored in the table `state`."""

_NO_EXTENSION = (
    psycopg.errors.InsufficientPrivilege,
    psycopg.errors.FeatureNotSupported,
    psycopg.errors.UndefinedFile,
)

VectorType = Literal["vector", "bytea"]

# `@` stands for the schema, `#` for the type of vectors.
_TABLES = """
CREATE TABLE @.episodes (
    position bigint PRIMARY KEY,
    schema_version bigint NOT NULL,
    namespace text NOT NULL,
    run text NOT NULL,
    step text NOT NULL,
    attempt bigint NOT NULL,
    objective text NOT NULL,
    task_type text NOT NULL,
    output text NOT NULL,
    prompt text NOT NULL,
    digest bytea NOT NULL,
    persona text NOT NULL,
    tier text NOT NULL,
    model text NOT NULL,
    revision bigint NOT NULL,
    cause text,
    decision text,
    rule text NOT NULL,
    succeeded boolean NOT NULL,
    category text,
    error text NOT NULL,
    gates jsonb NOT NULL,
    input_tokens bigint NOT NULL,
    output_tokens bigint NOT NULL,
    started_at double precision NOT NULL,
    ended_at double precision NOT NULL,
    duration_s double precision NOT NULL,
    reward double precision NOT NULL,
    terms jsonb NOT NULL,
    upstream jsonb NOT NULL,
    downstream jsonb NOT NULL,
    used jsonb NOT NULL,
    artifact text NOT NULL,
    excerpt text NOT NULL,
    UNIQUE (namespace, run, step, attempt)
);
CREATE INDEX episodes_by_digest ON @.episodes (digest);
CREATE TABLE @.embedders (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL UNIQUE
);
CREATE TABLE @.vectors (
    embedder integer NOT NULL REFERENCES @.embedders (id),
    digest bytea NOT NULL,
    vector # NOT NULL,
    PRIMARY KEY (digest, embedder)
);
CREATE TABLE @.state (name text PRIMARY KEY, value bigint NOT NULL);
INSERT INTO @.state (name, value) VALUES ('layout', 1), ('last_position', 0), ('forgotten', 0)
"""


def layout_of(db: Connection, schema: str) -> int:
    """Return the layout of a schema, 0 if it has no log.

    Raises:
        MemoryStoreError: Another version made it.
    """
    known = db.execute(
        "SELECT 1 FROM information_schema.tables WHERE table_schema = %s AND table_name = 'state'",
        (schema,),
    ).fetchone()
    if known is None:
        return 0
    query = "".join(["SELECT value FROM ", quote_name(schema, "state"), " WHERE name = 'layout'"])
    row = db.execute(query.encode()).fetchone()
    layout = 0 if row is None else int(row[0])
    if layout != LAYOUT:
        raise MemoryStoreError(
            f"The memory in the schema {schema} was written by another version of Prefect Swarm: "
            f"its layout is {layout}, and this version knows {LAYOUT}.",
            "Use that version (the newest: pip install -U prefect-swarm), or name another schema. "
            "Nothing was changed.",
        )
    return layout


def make_schema(db: Connection, schema: str) -> None:
    """Create the tables if missing; the caller holds the writers' lock.

    Vectors are pgvector's if the server has the extension and allows it, else bytes.
    """
    if layout_of(db, schema) == LAYOUT:
        return
    encoding = db.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise MemoryStoreError(
            f"The database {db.info.dbname} is encoded in {encoding}, which can't store all texts.",
            "Create a database for the memory: createdb --encoding=UTF8 --template=template0 NAME",
        )
    # CREATE SCHEMA IF NOT EXISTS needs the right to create even if the schema exists.
    known = "SELECT 1 FROM pg_namespace WHERE nspname = %s"
    if db.execute(known, (schema,)).fetchone() is None:
        db.execute(f"CREATE SCHEMA {quote_name(schema)}".encode())
    try:
        with db.transaction():
            db.execute("CREATE EXTENSION IF NOT EXISTS vector")
    except _NO_EXTENSION:
        vectors = "bytea"
    else:
        vectors = _extension_type(db)
    db.execute(_TABLES.replace("@", quote_name(schema)).replace("#", vectors).encode())


def vector_type(db: Connection, schema: str) -> tuple[VectorType, str]:
    """Return the type of stored vectors, and its qualified name."""
    row = db.execute(
        "SELECT udt_name, udt_schema FROM information_schema.columns "
        "WHERE table_schema = %s AND table_name = 'vectors' AND column_name = 'vector'",
        (schema,),
    ).fetchone()
    if row is not None and row[0] == "vector":
        return "vector", quote_name(row[1], row[0])
    return "bytea", "bytea"


def _extension_type(db: Connection) -> str:
    row = db.execute(
        "SELECT nspname FROM pg_extension JOIN pg_namespace n ON n.oid = extnamespace "
        "WHERE extname = 'vector'"
    ).fetchone()
    return quote_name("public" if row is None else row[0], "vector")
