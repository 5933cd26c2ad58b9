"""The mitigations that a run uses: from the graph, and from attempts after it."""

from __future__ import annotations

from ...result import Mitigation, ShownAttempt
from ..episode import Episode
from ..graph.queries import all_mitigations, latest_repairs
from ..graph.rows import rows_of
from ..log.rows import read_batches
from ..store import Store
from .lesson import repair_example
from .mitigation import combine_mitigations, is_proven, latest_repairs_in, mitigations_in

__all__ = ["precedents"]

_LATEST = 5000
"""Attempts that are read if the graph doesn't have them yet; the latest."""


def precedents(store: Store, namespace: str) -> tuple[Mitigation, ...]:
    """Return the known mitigations of failures; those that mostly work have an example.

    Raises:
        MemoryStoreError: The log or the graph can't be read.
    """
    graph, end = store.reader.graph_and_end()
    after = max(end, store.log.last_position() - _LATEST)
    rows, _ = rows_of([entry for batch in read_batches(store.log, after) for entry in batch])
    found = [
        *(all_mitigations(graph, namespace) if graph else ()),
        *mitigations_in(rows, namespace),
    ]
    combined = combine_mitigations(found)
    earned = {
        (mitigation.symptom, mitigation.action) for mitigation in combined if is_proven(mitigation)
    }
    symptoms = sorted({symptom for symptom, _ in earned})
    positions = {
        **(latest_repairs(graph, namespace, symptoms) if graph else {}),
        **latest_repairs_in(rows, namespace),
    }
    wanted = {pair: positions[pair] for pair in earned & positions.keys()}
    episodes = store.log.at(list(wanted.values()))
    return tuple(
        _add_example(
            mitigation, episodes.get(wanted.get((mitigation.symptom, mitigation.action), 0))
        )
        if is_proven(mitigation)
        else mitigation
        for mitigation in combined
    )


def _add_example(mitigation: Mitigation, episode: Episode | None) -> Mitigation:
    if episode is None or not episode.excerpt:
        return mitigation
    example = ShownAttempt(
        run=episode.run, step=episode.step, attempt=episode.attempt, text=repair_example(episode)
    )
    return mitigation.model_copy(update={"example": example})
