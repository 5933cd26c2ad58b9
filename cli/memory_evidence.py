"""Taking out of the decisions about personas what they hold of forgotten episodes."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection
from contextlib import closing
from typing import TYPE_CHECKING, Any

from ..memory.episode import EpisodeKey, Selection

if TYPE_CHECKING:
    from ..memory.persona_store import PersonaStore

__all__ = ["forget_evidence", "personas_meant"]

_ROWS = "SELECT id, evidence, reason FROM changes WHERE namespace = ?"
_REMOVED = "(forgotten)"


def personas_meant(store: PersonaStore, namespace: str, which: Selection) -> tuple[str, ...]:
    """Name the invented personas that go with the episodes, their prompts and evidence too.

    That is all of them if everything goes, the one that is named, and those whose prompt has the
    text that is to go. With a second condition it is none: that is about episodes.
    """
    from ..memory.log_sql import mentions

    known = store.registry(namespace).known
    invented = {name: one.persona for name, one in known.items() if one.origin == "invented"}
    if which == Selection(everything=True):
        return tuple(invented)
    if which.persona is not None and which == Selection(persona=which.persona):
        return tuple(name for name in invented if name == which.persona)
    if which.containing is not None and which == Selection(containing=which.containing):
        said = {name: (name, one.title, one.instructions) for name, one in invented.items()}
        return tuple(name for name in said if mentions(which.containing, said[name]))
    return ()


def forget_evidence(
    store: PersonaStore,
    namespace: str,
    which: Selection,
    personas: Collection[str],
    keys: Collection[EpisodeKey],
) -> int:
    """Remove these personas, and from what was decided of others the keys and the text.

    A decision's counts stay, since it was made by them. Returns how many decisions went or changed.

    Raises:
        MemoryStoreError: The store can't be written, or a reader keeps its bytes in the WAL.
    """
    from ..memory.sqlite_connections import Connections

    if which.everything:
        return store.forget(namespace)
    gone = sum(store.forget(namespace, name) for name in personas)

    def scrub(db: sqlite3.Connection) -> int:
        changed = 0
        for number, evidence, reason in db.execute(_ROWS, (namespace,)).fetchall():
            left = _without(evidence, keys), _unsaid(reason, which.containing)
            if left != (evidence, reason):
                _replace(db, number, *left)
                changed += 1
        return changed

    with closing(Connections(store.path)) as file:
        changed = file.write(scrub)
    # Overwrites what the WAL still has, and says so where it can't.
    store.forget(namespace, "")
    return gone + changed


def _without(evidence: str | None, keys: Collection[EpisodeKey]) -> str | None:
    if not evidence:
        return evidence
    told: dict[str, Any] = json.loads(evidence)
    left = [key for key in told["episodes"] if EpisodeKey(*key) not in keys]
    if len(left) == len(told["episodes"]):
        return evidence
    return json.dumps({**told, "episodes": left}, ensure_ascii=False)


def _unsaid(reason: str, text: str | None) -> str:
    from ..memory.log_sql import mentions

    return _REMOVED if text is not None and mentions(text, [reason]) else reason


def _replace(db: sqlite3.Connection, number: int, evidence: str | None, reason: str) -> None:
    """Put a row in the place of another: the table refuses updates, and its chain has the ids."""
    cursor = db.execute("SELECT * FROM changes WHERE id = ?", (number,))
    names = [column[0] for column in cursor.description]
    row = {**dict(zip(names, cursor.fetchone(), strict=True))}
    row.update(evidence=evidence, reason=reason)
    db.execute("DELETE FROM changes WHERE id = ?", (number,))
    marks = ", ".join("?" * len(row))
    insert = "".join(["INSERT INTO changes (", ", ".join(row), ") VALUES (", marks, ")"])
    db.execute(insert, tuple(row.values()))
