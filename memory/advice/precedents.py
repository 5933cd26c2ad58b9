"""What a run takes with it of how failures were dealt with: the graph, and what came after it."""

from __future__ import annotations

from ...result import Example, Mitigation
from ..episode import Episode
from ..graph.queries import mended, tried
from ..graph.rows import rows_of
from ..log.batches import portions
from ..store import Store
from .lesson import mending
from .mitigation import has_earned, known, mended_in, tried_in

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
    earned = {(one.symptom, one.action) for one in there if has_earned(one)}
    symptoms = sorted({symptom for symptom, _ in earned})
    positions = {
        **(mended(graph, namespace, symptoms) if graph else {}),
        **mended_in(rows, namespace),
    }
    wanted = {pair: positions[pair] for pair in earned & positions.keys()}
    episodes = store.log.at(list(wanted.values()))
    return tuple(
        _with_example(one, episodes.get(wanted.get((one.symptom, one.action), 0)))
        if has_earned(one)
        else one
        for one in there
    )


def _with_example(one: Mitigation, episode: Episode | None) -> Mitigation:
    if episode is None or not episode.excerpt:
        return one
    told = Example(
        run=episode.run, step=episode.step, attempt=episode.attempt, text=mending(episode)
    )
    return one.model_copy(update={"example": told})
