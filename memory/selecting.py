"""What a person asks to forget, and which episodes and personas that is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import InputError
from .episode import LogEntry, Selection
from .run_names import find_run_id, find_run_ids

if TYPE_CHECKING:
    from datetime import datetime

    from .persona.store import PersonaStore
    from .store import Store

__all__ = ["ResolvedSelection", "make_selection", "resolve_selection"]


@dataclass(frozen=True, slots=True)
class ResolvedSelection:
    """What a selection matches in a memory as it is now.

    Attributes:
        namespace, which: The namespace, and the selection with the run's full id.
        entries: The episodes.
        personas: The invented personas that go with them.
    """

    namespace: str
    which: Selection
    entries: tuple[LogEntry, ...]
    personas: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.entries or self.personas)


def make_selection(
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
        InputError: No condition, an empty one, or one together with `everything`.
    """
    from .log.rows import check_forgettable

    given = {"run": run, "step": step, "persona": persona, "containing": containing}
    for name, value in given.items():
        if value is not None and not value.strip():
            raise InputError(f"{mark}{name} is empty.", "Say which, or leave it out.")
    if everything and (before is not None or any(given.values())):
        raise InputError(
            f"{mark}everything was given with a condition.",
            "Nothing was removed. Give either a condition or everything.",
        )
    time = None if before is None else _to_timestamp(before, mark)
    which = Selection.model_validate({**given, "before": time, "everything": everything})
    check_forgettable(which)
    return which


def resolve_selection(store: Store, namespace: str, which: Selection) -> ResolvedSelection:
    """Return what a selection would forget; nothing is changed.

    Raises:
        InputError: Several runs have that short name.
        MemoryStoreError: The memory can't be read.
    """
    if which.run is not None and find_run_ids(store.log, namespace, which.run):
        which = which.model_copy(update={"run": find_run_id(store.log, namespace, which.run)})
    entries = store.log.select(namespace, which)
    return ResolvedSelection(
        namespace, which, tuple(entries), _invented_personas(store.personas, namespace, which)
    )


def _to_timestamp(time: datetime, mark: str) -> float:
    try:
        return time.timestamp()
    except (ValueError, OverflowError, OSError):
        raise InputError(f"{mark}before is out of range: {time}.", "Give a later time.") from None


def _invented_personas(store: PersonaStore, namespace: str, which: Selection) -> tuple[str, ...]:
    """Name the invented personas that go with the episodes, their prompts and evidence too.

    All of them if everything is forgotten, the named one, and those whose prompt contains the
    forgotten text. With a second condition none, since that selects episodes only.
    """
    from .log.rows import mentions

    known = store.registry(namespace).known
    invented = [entry.persona for entry in known.values() if entry.origin == "invented"]
    if which == Selection(everything=True):
        return tuple(persona.name for persona in invented)
    if which.persona is not None and which == Selection(persona=which.persona):
        return tuple(persona.name for persona in invented if persona.name == which.persona)
    if which.containing is not None and which == Selection(containing=which.containing):
        return tuple(
            persona.name
            for persona in invented
            if mentions(which.containing, (persona.name, persona.title, persona.instructions))
        )
    return ()
