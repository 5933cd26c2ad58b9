"""What follows from a run once it is over: personas, beliefs, indexes, and what to say of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..episode import Episode, Selection
from ..learning.beliefs import Beliefs
from ..persona.decisions import invent
from ..persona.registry import Change
from ..persona.review import collect_outcomes, review
from ..store import Store

__all__ = ["TAIL", "InventedAgent", "after_run", "describe_attempts"]

TAIL = 500
"""Episodes beyond the index that are searched one by one, until it is worth a rebuild."""
_REVIEWED = 5000


class InventedAgent(NamedTuple):
    """An agent that a planner made up, as its step succeeded.

    Attributes:
        task_type: As an episode's.
        persona: What the run's episodes call it.
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
    """Take in a run that is over, and return what it has taught, one sentence each.

    Raises:
        MemoryStoreError: The memory can't be read or written; what was remembered is safe.
    """
    beliefs = store.beliefs(namespace)
    episodes = [entry.episode for entry in store.log.select(namespace, Selection(run=run))]
    changes = [*_enter(store, namespace, agents, clock()), *_review(store, namespace, clock())]
    if store.log.last_position() >= TAIL and store.reader.status().tail >= TAIL:
        store.consolidate()
    store.keep_beliefs(namespace)
    return (
        *describe_attempts(episodes, beliefs),
        *(f"{change.persona}: {change.reason}" for change in changes),
    )


def describe_attempts(episodes: Sequence[Episode], beliefs: Beliefs) -> tuple[str, ...]:
    """Say how a run's attempts ended, by persona and type of task, and what is believed now."""
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


def _enter(
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
