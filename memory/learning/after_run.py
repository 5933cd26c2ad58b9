"""Learning from a run after its end: personas, beliefs, indexes, and a summary."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..episode import Episode, Selection
from ..personas.registry import Change, invent
from ..personas.review import collect_outcomes, review
from ..store import Store
from .beliefs import Beliefs

__all__ = ["TAIL", "InventedAgent", "after_run", "describe_attempts"]

TAIL = 500
"""Episodes after the index that are searched exhaustively, before it is rebuilt."""
_REVIEWED = 5000


class InventedAgent(NamedTuple):
    """An agent that a planner invented and whose step succeeded.

    Attributes:
        task_type: As an episode's.
        persona: Its name in the run's episodes.
    """

    name: str
    system_prompt: str
    task_type: str
    persona: str = ""


def after_run(
    store: Store,
    namespace: str,
    run: str,
    agents: Sequence[InventedAgent],
    *,
    clock: Callable[[], float] = time.time,
) -> tuple[str, ...]:
    """Learn from a run that has ended; return what was learned, in sentences.

    Raises:
        MemoryStoreError: The memory can't be read or written; the episodes are safe.
    """
    beliefs = store.beliefs(namespace)
    episodes = [entry.episode for entry in store.log.select(namespace, Selection(run=run))]
    changes = [
        *_enter_agents(store, namespace, agents, clock()),
        *_review(store, namespace, clock()),
    ]
    if store.log.last_position() >= TAIL and store.reader.status().tail >= TAIL:
        store.consolidate()
    store.keep_beliefs(namespace)
    return (
        *describe_attempts(episodes, beliefs),
        *(f"{change.persona}: {change.reason}" for change in changes),
    )


def describe_attempts(episodes: Sequence[Episode], beliefs: Beliefs) -> tuple[str, ...]:
    """Describe how a run's attempts ended, by persona and task type, with the estimates now."""
    arms = dict.fromkeys((episode.persona, episode.task_type) for episode in episodes)
    sentences: list[str] = []
    for persona, task_type in arms:
        mine = [
            episode
            for episode in episodes
            if (episode.persona, episode.task_type) == (persona, task_type)
        ]
        won = sum(episode.succeeded for episode in mine)
        estimate = beliefs.personas.get(task_type, {}).get(persona)
        now = f"; Q is {estimate.q:.2f} now" if estimate else ""
        sentences.append(f"{persona} on {task_type}: {won} of {len(mine)} attempts succeeded{now}")
    return tuple(sentences)


def _enter_agents(
    store: Store, namespace: str, agents: Sequence[InventedAgent], at: float
) -> list[Change]:
    entered: list[Change] = []
    for agent in agents:
        change = store.personas.decide(
            namespace,
            lambda registry, agent=agent: invent(
                registry,
                agent.name,
                agent.system_prompt,
                agent.task_type,
                at=at,
                known_as=agent.persona,
            ),
        )
        if change is not None:
            entered.append(change)
    return entered


def _review(store: Store, namespace: str, at: float) -> tuple[Change, ...]:
    registry = store.personas.registry(namespace)
    if not any(known.origin == "invented" for known in registry.known.values()):
        return ()
    latest = store.log.since(max(0, store.log.last_position() - _REVIEWED), _REVIEWED)
    seen = collect_outcomes(entry for entry in latest if entry.episode.namespace == namespace)
    return store.personas.append(namespace, review(registry, seen, at=at))
