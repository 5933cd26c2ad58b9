"""Decisions about personas, in an append-only table that many processes write."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ...errors import MemoryStoreError
from ..episode import EpisodeKey
from ..log.rows import mentions
from ..log.sqlite import PATIENCE_S, Connections
from .model import load_personas, shipped_personas
from .registry import Change, Registry, registry_of

__all__ = ["APPLICATION_ID", "LAYOUT", "PersonaStore"]


LAYOUT = 1
"""The layout that this version writes; a file stores it in `PRAGMA user_version`."""
APPLICATION_ID = 0x53575031
"""Marks a file as a store of personas."""

_COLUMNS = (
    "persona", "action", "before", "after", "by", "held", "reason", "evidence", "definition",
    "position", "follows", "at",
)  # fmt: skip
# The last condition rejects a decision if another process has decided since.
_TABLE = """
CREATE TABLE changes (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    namespace TEXT NOT NULL,
    persona TEXT NOT NULL,
    action TEXT NOT NULL,
    before TEXT,
    after TEXT NOT NULL,
    by TEXT NOT NULL,
    held INTEGER NOT NULL,
    reason TEXT NOT NULL,
    evidence TEXT,
    definition TEXT,
    position INTEGER NOT NULL,
    follows INTEGER NOT NULL,
    at REAL NOT NULL,
    UNIQUE (namespace, persona, follows)
)
"""
_FINAL = """
CREATE TRIGGER changes_are_final BEFORE UPDATE ON changes
BEGIN SELECT RAISE(ABORT, 'a change is never changed'); END
"""
_SELECT = "".join([
    "SELECT id, ", ", ".join(_COLUMNS), " FROM changes WHERE namespace = ? ORDER BY id",
])  # fmt: skip
# Without an id the row gets the next one.
_INSERT = "".join([
    "INSERT INTO changes (id, namespace, ", ", ".join(_COLUMNS), ") VALUES (?, ?, ",
    ", ".join("?" * len(_COLUMNS)), ")",
])  # fmt: skip
_LAST = "SELECT COALESCE(MAX(id), 0) FROM changes WHERE namespace = ? AND persona = ?"
_TRIES = 100
_REMOVED = "(forgotten)"


class PersonaStore:
    """The changes of all namespaces in one SQLite file, and the registry that follows from them.

    Safe for any number of threads and processes on one machine. An appended change is on the disk.

    Args:
        path: The file; it and its folder are created if missing.
        own: The folder of the user's personas; it need not exist.
        patience_s: How long a call waits for other writers.

    Raises:
        MemoryStoreError: The file can't be opened or made, is damaged, is something else, or was
            written by a newer version.
    """

    def __init__(
        self, path: Path, own: Path | None = None, *, patience_s: float = PATIENCE_S
    ) -> None:
        self.path = path
        self._own = own
        self._file = Connections(path, patience_s)
        if not self._file.read(_is_current):
            self._file.read(lambda db: db.execute("PRAGMA journal_mode = WAL").fetchone())
            self._file.write(self._make_table)

    def changes(self, namespace: str) -> tuple[Change, ...]:
        """Return all decisions, in their order."""
        rows = self._file.read(lambda db: db.execute(_SELECT, (namespace,)).fetchall())
        return tuple(self._read_change(row) for row in rows)

    def registry(self, namespace: str) -> Registry:
        """Return all personas as they are now, of the user's folder, shipped and invented.

        Raises:
            InputError: A file of the user's is wrong; says which, and which field.
            MemoryStoreError: The store can't be read.
        """
        own = load_personas(self._own) if self._own else ()
        return registry_of(own, shipped_personas(), self.changes(namespace))

    def append(self, namespace: str, changes: Iterable[Change]) -> tuple[Change, ...]:
        """Append changes and return those that were; a change that follows an old one is void."""
        wanted = tuple(changes)

        def insert(db: sqlite3.Connection) -> list[Change]:
            done: list[Change] = []
            for change in wanted:
                if db.execute(_LAST, (namespace, change.persona)).fetchone()[0] == change.follows:
                    row = db.execute(_INSERT, (None, namespace, *_values(change))).lastrowid
                    done.append(change.model_copy(update={"id": row}))
            return done

        return tuple(self._file.write(insert)) if wanted else ()

    def decide(
        self, namespace: str, decision: Callable[[Registry], Change | None]
    ) -> Change | None:
        """Let `decision` decide on the current registry, again if another process decided first.

        `store.decide("default", lambda r: retire(r, "judge", at=time.time()))` retires one.

        Raises:
            InputError: Raised by `decision`.
            MemoryStoreError: The store can't be read or written.
        """
        for _ in range(_TRIES):
            change = decision(self.registry(namespace))
            if change is None:
                return None
            if done := self.append(namespace, [change]):
                return done[0]
        raise MemoryStoreError(
            f"Other processes keep changing the same persona in {self.path}.", "Try again."
        )

    def forget(self, namespace: str, persona: str | None = None) -> int:
        """Remove all decisions about a persona, or about all, for good; return how many.

        That removes an invented persona and its prompt; the bytes are overwritten.

        Raises:
            ForgettingUnfinishedError: They are removed, and a reader keeps their bytes.
        """
        where = "namespace = ?" + ("" if persona is None else " AND persona = ?")
        values = (namespace,) if persona is None else (namespace, persona)
        statement = "".join(["DELETE FROM changes WHERE ", where])
        gone = self._file.write(lambda db: db.execute(statement, values).rowcount)
        self.vacuum()
        return gone

    def scrub(self, namespace: str, keys: Collection[EpisodeKey], text: str | None = None) -> int:
        """Remove forgotten episodes' keys, and a forgotten text, from all decisions.

        A decision's counts stay, since it was based on them.

        Returns:
            How many decisions that changed; the old bytes are overwritten.

        Raises:
            ForgettingUnfinishedError: It is done, and a reader keeps the old bytes.
            MemoryStoreError: The store can't be written.
        """

        def replace(db: sqlite3.Connection) -> int:
            changed = 0
            for number, *fields in db.execute(_SELECT, (namespace,)).fetchall():
                row = dict(zip(_COLUMNS, fields, strict=True))
                remaining = {
                    "evidence": _remove_keys(row["evidence"], keys),
                    "reason": _redact_text(row["reason"], text),
                }
                if remaining.items() <= row.items():
                    continue
                # The table refuses updates; later decisions refer to the id.
                db.execute("DELETE FROM changes WHERE id = ?", (number,))
                db.execute(_INSERT, (number, namespace, *{**row, **remaining}.values()))
                changed += 1
            return changed

        changed = self._file.write(replace)
        self.vacuum()
        return changed

    def vacuum(self) -> None:
        """Write the file again without what was removed.

        Raises:
            ForgettingUnfinishedError: A reader keeps the bytes of what was removed.
        """
        self._file.rewrite()

    def close(self) -> None:
        """Close the file for all threads of this process."""
        self._file.close()

    def _make_table(self, db: sqlite3.Connection) -> None:
        if _is_current(db):
            return
        version = db.execute("PRAGMA user_version").fetchone()[0]
        ours = db.execute("PRAGMA application_id").fetchone()[0] == APPLICATION_ID
        if ours and version > LAYOUT:
            raise MemoryStoreError(
                f"{self.path} was written by a newer version of Prefect Swarm: its layout is "
                f"{version}, and this version knows {LAYOUT}.",
                "Update this installation: pip install -U prefect-swarm. The file is unchanged.",
            )
        if db.execute("SELECT COUNT(*) FROM sqlite_schema").fetchone()[0]:
            raise MemoryStoreError(
                f"{self.path} is a database of something else, not a store of personas.",
                "Name another file, or move this file away.",
            )
        db.execute(_TABLE)
        db.execute(_FINAL)
        db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        db.execute(f"PRAGMA user_version = {LAYOUT}")

    def _read_change(self, row: tuple[Any, ...]) -> Change:
        fields = dict(zip(("id", *_COLUMNS), row, strict=True))
        try:
            for name in ("evidence", "definition"):
                fields[name] = json.loads(fields[name]) if fields[name] else None
            fields["definition"] = _drop_old_fields(fields["definition"])
            return Change.model_validate_json(json.dumps(fields))
        except (ValidationError, ValueError) as error:
            raise MemoryStoreError(
                f"Change {row[0]} in {self.path} can't be read: {error}.",
                f"See the row with that id: sqlite3 {self.path}",
            ) from None


def _is_current(db: sqlite3.Connection) -> bool:
    version = db.execute("PRAGMA user_version").fetchone()[0]
    return (version, db.execute("PRAGMA application_id").fetchone()[0]) == (LAYOUT, APPLICATION_ID)


def _drop_old_fields(definition: dict[str, Any] | None) -> dict[str, Any] | None:
    """Leave out fields that personas had once and that were never used."""
    return definition and {k: v for k, v in definition.items() if k not in ("gates", "tools")}


def _remove_keys(evidence: str | None, keys: Collection[EpisodeKey]) -> str | None:
    """Return evidence, as JSON, without these episodes; the same text if it names none of them."""
    if not evidence:
        return evidence
    fields: dict[str, Any] = json.loads(evidence)
    remaining = [key for key in fields["episodes"] if EpisodeKey(*key) not in keys]
    if len(remaining) == len(fields["episodes"]):
        return evidence
    return json.dumps({**fields, "episodes": remaining}, ensure_ascii=False)


def _redact_text(reason: str, text: str | None) -> str:
    """Return a reason, or `_REMOVED` if it contains the text in any case."""
    return _REMOVED if text is not None and mentions(text, [reason]) else reason


def _values(change: Change) -> tuple[Any, ...]:
    fields = change.model_dump(mode="json")
    for name in ("evidence", "definition"):
        fields[name] = json.dumps(fields[name], ensure_ascii=False) if fields[name] else None
    return tuple(fields[name] for name in _COLUMNS)
