"""Short names of runs, and the flow run ids that the memory knows them by."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..errors import InputError
from .episode import Selection

if TYPE_CHECKING:
    from .protocols import EpisodeLog

__all__ = ["find_run_id", "find_run_ids", "short_run"]

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def find_run_ids(log: EpisodeLog, namespace: str, name: str) -> list[str]:
    """Return the flow run ids that a name may mean: an id, or the short id that commands print."""
    if log.select(namespace, Selection(run=name)):
        return [name]
    asked = name.replace("-", "").lower()
    return [run for run in _runs(log, namespace) if asked in (short_run(run), run.replace("-", ""))]


def find_run_id(log: EpisodeLog, namespace: str, name: str) -> str:
    """Return the flow run id that a name means.

    Raises:
        InputError: No run has that name, or several have that short id.
    """
    found = find_run_ids(log, namespace, name)
    if len(found) == 1:
        return found[0]
    if found:
        raise InputError(f"Several runs are called {name!r}.", f"Say which: {', '.join(found)}.")
    last = ", ".join([short_run(run) for run in _runs(log, namespace)][-5:])
    raise InputError(
        f"The memory of namespace {namespace!r} has nothing of a run {name!r}.",
        f"The last runs are {last}." if last else "It is empty.",
    )


def short_run(run: str) -> str:
    """Return a run's name as commands print it."""
    from ..runs import run_id_of

    return run_id_of(run) if _UUID.fullmatch(run) else run


def _runs(log: EpisodeLog, namespace: str) -> dict[str, None]:
    from .log.rows import read_batches

    return dict.fromkeys(
        entry.episode.run
        for entries in read_batches(log)
        for entry in entries
        if entry.episode.namespace == namespace
    )
