"""The layout of the PostgreSQL log, and the type of its vectors."""

from __future__ import annotations

from typing import Literal

import psycopg

from ...errors import MemoryStoreError
from .postgres_connections import Connection, quote_name

__all__ = ["LAYOUT", "VectorType", "layout_of", "make_schema", "vector_type"]

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
