"""The layout of the SQLite log, and how files of earlier layouts become it.

A step leads from one layout to the next and never changes once it has been published, so it names
its columns itself and knows nothing of today's `Episode`.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ...errors import MemoryStoreError

__all__ = ["APPLICATION_ID", "LAYOUT", "is_current", "migrate"]

LAYOUT = 1
"""The layout that this version writes; a file has it in `PRAGMA user_version`."""
APPLICATION_ID = 0x53574D31
"""What marks a file as a memory's log."""

_LAYOUT_1 = """
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

# Layout 0 kept an episode as one JSON text, and had neither a version nor a count of forgettings.
_BODY_0 = (
    "schema_version", "namespace", "run", "step", "attempt", "objective", "task_type", "output",
    "prompt", "persona", "tier", "model", "revision", "cause", "decision", "rule", "succeeded",
    "category", "error", "gates", "input_tokens", "output_tokens", "started_at", "ended_at",
    "duration_s", "reward", "terms", "upstream", "downstream", "used", "artifact", "excerpt",
)  # fmt: skip


def is_current(db: sqlite3.Connection) -> bool:
    """Whether nothing has to be done; reads only the file's first page."""
    return _number(db, "user_version") == LAYOUT and _number(db, "application_id") == APPLICATION_ID


def migrate(db: sqlite3.Connection, path: Path) -> None:
    """Bring a file to today's layout, a new one too; the caller holds a write transaction.

    Raises:
        MemoryStoreError: The file is no memory's log, or a newer version wrote it.
    """
    layout = _layout_of(db, path)
    for step in _STEPS[layout:]:
        step(db)
    # Both pragmas are part of the transaction.
    db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    db.execute(f"PRAGMA user_version = {LAYOUT}")


def _layout_of(db: sqlite3.Connection, path: Path) -> int:
    version = _number(db, "user_version")
    tables = {name for (name,) in db.execute("SELECT name FROM sqlite_schema")}
    ours = _number(db, "application_id") == APPLICATION_ID if version else not tables
    if not ours and not (version == 0 and {"episodes", "vectors"} <= tables):
        raise MemoryStoreError(
            f"{path} is a database of something else, not a memory.",
            "Name another file, or move this one away.",
        )
    if version > LAYOUT:
        raise MemoryStoreError(
            f"{path} was written by a newer version of Prefect Swarm: its layout is {version}, "
            f"and this version knows {LAYOUT}.",
            "Update this installation: pip install -U prefect-swarm. The file is unchanged.",
        )
    return version


def _number(db: sqlite3.Connection, pragma: str) -> int:
    return db.execute(f"PRAGMA {pragma}").fetchone()[0]


def _execute_all(db: sqlite3.Connection, script: str) -> None:
    # `executescript` would commit first.
    for statement in script.split(";"):
        db.execute(statement)


def _to_layout_1(db: sqlite3.Connection) -> None:
    old = {name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    if "episodes" not in old:
        _execute_all(db, _LAYOUT_1)
        return
    db.execute("ALTER TABLE episodes RENAME TO episodes_0")
    db.execute("ALTER TABLE vectors RENAME TO vectors_0")
    _execute_all(db, _LAYOUT_1)
    _copy_episodes_0(db)
    db.execute("INSERT INTO embedders (name) SELECT DISTINCT embedder FROM vectors_0")
    db.create_function("unhexed", 1, bytes.fromhex, deterministic=True)
    db.execute(
        "INSERT INTO vectors (embedder, digest, vector) SELECT id, unhexed(digest), vector "
        "FROM vectors_0 JOIN embedders ON name = embedder"
    )
    # The highest position ever given, whose episode may have been forgotten.
    db.execute("DELETE FROM sqlite_sequence WHERE name = 'episodes'")
    db.execute("UPDATE sqlite_sequence SET name = 'episodes' WHERE name = 'episodes_0'")
    db.execute("DROP TABLE episodes_0")
    db.execute("DROP TABLE vectors_0")


def _copy_episodes_0(db: sqlite3.Connection) -> None:
    names = ("position", "digest", *_BODY_0)
    marks = ", ".join("?" * len(names))
    into = "".join(["INSERT INTO episodes (", ", ".join(names), ") VALUES (", marks, ")"])
    for position, body in db.execute("SELECT position, body FROM episodes_0"):
        try:
            fields: dict[str, Any] = json.loads(body)
            digest = hashlib.sha256(fields["prompt"].encode()).digest()
            db.execute(into, (position, digest, *(_value_1(fields[name]) for name in _BODY_0)))
        except (KeyError, ValueError, sqlite3.IntegrityError) as error:
            raise MemoryStoreError(
                f"Position {position} of a memory of the first layout can't be read: {error!r}.",
                f"To go on without it: DELETE FROM episodes WHERE position = {position}",  # noqa: S608
            ) from error


def _value_1(value: Any) -> Any:
    if isinstance(value, list | dict):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return value


_STEPS: tuple[Callable[[sqlite3.Connection], None], ...] = (_to_layout_1,)
"""Step `n` leads from layout `n` to `n + 1`; the first also makes the tables of a new file."""
