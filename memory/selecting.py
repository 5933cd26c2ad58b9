"""Conditions of a person's, and what they mean in a memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import InputError
from .episode import LogEntry, Selection
from .run_names import run_named, runs_called

if TYPE_CHECKING:
    from datetime import datetime

    from .persona.store import PersonaStore
    from .store import Store

__all__ = ["Meant", "meant_by", "selected"]


@dataclass(frozen=True, slots=True)
class Meant:
    """What a selection means in a memory as it is now.

    Attributes:
        namespace, which: Whose, and the selection, with the run's whole id.
        entries: The episodes.
        personas: The invented personas that go with them.
    """

    namespace: str
    which: Selection
    entries: tuple[LogEntry, ...]
    personas: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.entries or self.personas)


def selected(
    run: str | None,
    step: str | None,
    persona: str | None,
    before: datetime | None,
    containing: str | None,
    *,
    everything: bool,
    mark: str = "",
) -> Selection:
    """Return a selection of these conditions; `mark` stands before their names in errors.

    Raises:
        InputError: There is none, one is empty, or one stands beside `everything`.
    """
    from .log.rows import check_forgettable

    given = {"run": run, "step": step, "persona": persona, "containing": containing}
    for name, value in given.items():
        if value is not None and not value.strip():
            raise InputError(f"{mark}{name} is empty.", "Say which, or leave it out.")
    if everything and (before is not None or any(given.values())):
        raise InputError(
            f"{mark}everything was given with a condition.",
            "Nothing was removed. Give the one or the other.",
        )
    time = None if before is None else _seconds(before, mark)
    which = Selection.model_validate({**given, "before": time, "everything": everything})
    check_forgettable(which)
    return which


def meant_by(store: Store, namespace: str, which: Selection) -> Meant:
    """Look up what would be forgotten; nothing is changed.

    Raises:
        InputError: Several runs have that short name.
        MemoryStoreError: The memory can't be read.
    """
    if which.run is not None and runs_called(store.log, namespace, which.run):
        which = which.model_copy(update={"run": run_named(store.log, namespace, which.run)})
    entries = store.log.select(namespace, which)
    return Meant(namespace, which, tuple(entries), _invented(store.personas, namespace, which))


def _seconds(time: datetime, mark: str) -> float:
    try:
        return time.timestamp()
    except (ValueError, OverflowError, OSError):
        raise InputError(f"{mark}before is out of range: {time}.", "Give a later one.") from None


def _invented(store: PersonaStore, namespace: str, which: Selection) -> tuple[str, ...]:
    """Name the invented personas that go with the episodes, their prompts and evidence too.

    That is all of them if everything goes, the one that is named, and those whose prompt has the
    text that is to go. With a second condition it is none: that is about episodes.
    """
    from .log.rows import mentions

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
