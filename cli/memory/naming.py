"""What a person calls an attempt, `RUN/STEP.ATTEMPT`, and which attempts that is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...errors import InputError
from ...memory.episode import LogEntry, Selection
from ...memory.run_names import find_run_id
from ...text import count_in

if TYPE_CHECKING:
    from ...memory.store import Store

__all__ = ["attempts_of_run", "named_attempts"]


def attempts_of_run(store: Store, namespace: str, name: str) -> list[LogEntry]:
    """Return all attempts of the run that a name begins with.

    Raises:
        InputError: The name is none, or no run or several have it.
    """
    run, _, _ = _apart(store, namespace, name)
    return store.log.select(namespace, Selection(run=run))


def named_attempts(
    store: Store, namespace: str, name: str, of_run: Sequence[LogEntry]
) -> list[LogEntry]:
    """Return the attempts of a run that a name means: all, a step's, or that attempt.

    Raises:
        InputError: There is none.
    """
    _, step, attempt = _apart(store, namespace, name)
    found = [
        entry
        for entry in of_run
        if step in (None, entry.episode.step, entry.episode.step.lower())
        and attempt in (None, entry.episode.attempt)
    ]
    if not found:
        attempts = ", ".join(f"{e.episode.step}.{e.episode.attempt}" for e in of_run)
        raise InputError(f"Nothing is remembered of {name!r}.", f"Of that run there is {attempts}.")
    return found


def _apart(store: Store, namespace: str, name: str) -> tuple[str, str | None, int | None]:
    """Take RUN/STEP.ATTEMPT apart."""
    head, slash, tail = name.strip().rpartition("/")
    if not slash:
        return find_run_id(store.log, namespace, tail), None, None
    step, dot, number = tail.rpartition(".")
    attempt = count_in(number)
    if dot and attempt is None:
        raise InputError(f"{name!r} names no attempt.", "Write it as RUN/STEP.ATTEMPT: 12ab/S1.2")
    run = find_run_id(store.log, namespace, head)
    return (run, step, attempt) if dot else (run, tail, None)
