"""What a run takes with it of how failures were dealt with: the graph, and what came after it."""

from __future__ import annotations

from ..result import Example, Mitigation
from .graph_rows import rows_of
from .lesson import mending
from .mitigation import has_earned, known, mended_in, tried_in
from .portions import portions
from .questions import mended, tried
from .store import Store

__all__ = ["precedents"]

_LATEST = 5000
"""Attempts that are gone through where the graph hasn't got them, latest first."""


def precedents(store: Store, namespace: str) -> tuple[Mitigation, ...]:
    """Return what was done about failures, those that earned their place with an example.

    Raises:
        MemoryStoreError: The log or the graph can't be read.
    """
    graph, end = store.reader.graphed()
    after = max(end, store.log.last_position() - _LATEST)
    rows, _ = rows_of([entry for portion in portions(store.log, after) for entry in portion])
    found = [*(tried(graph, namespace) if graph else ()), *tried_in(rows, namespace)]
    there = known(found)
    earned = list(dict.fromkeys(one.symptom for one in there if has_earned(one)))
    positions = {
        **(mended(graph, namespace, earned) if graph else {}),
        **mended_in(rows, namespace),
    }
    return tuple(
        _with_example(store, one, positions.get((one.symptom, one.action))) for one in there
    )


def _with_example(store: Store, one: Mitigation, position: int | None) -> Mitigation:
    if position is None or not has_earned(one):
        return one
    episode = store.log.at([position]).get(position)
    if episode is None or not episode.excerpt:
        return one
    told = Example(
        run=episode.run, step=episode.step, attempt=episode.attempt, text=mending(episode)
    )
    return one.model_copy(update={"example": told})
