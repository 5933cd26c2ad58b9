"""What follows from a run once it is over: personas, beliefs, indexes, and what to say of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..episode import Episode, Selection
from ..learning.beliefs import Beliefs
from ..persona.decisions import invent
from ..persona.registry import Change
from ..persona.review import observed, review
from ..store import Store

__all__ = ["TAIL", "Newcomer", "after_run", "taught"]

TAIL = 500
"""Episodes beyond the index that are searched one by one, until it is worth building anew."""
_REVIEWED = 5000


class Newcomer(NamedTuple):
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
    newcomers: Sequence[Newcomer],
    *,
    clock: Callable[[], float] = time.time,
) -> tuple[str, ...]:
    """Take in a run that is over, and return what it has taught, one sentence each.

    Raises:
        MemoryStoreError: The memory can't be read or written; what was remembered is safe.
    """
    beliefs = store.beliefs(namespace)
    episodes = [one.episode for one in store.log.select(namespace, Selection(run=run))]
    changes = [*_enter(store, namespace, newcomers, clock()), *_review(store, namespace, clock())]
    if store.log.last_position() >= TAIL and store.reader.standing().tail >= TAIL:
        store.consolidate()
    store.keep_beliefs(namespace)
    return (*taught(episodes, beliefs), *(f"{one.persona}: {one.reason}" for one in changes))


def taught(episodes: Sequence[Episode], beliefs: Beliefs) -> tuple[str, ...]:
    """Say how a run's attempts ended, by persona and type of task, and what is believed now."""
    arms = dict.fromkeys((one.persona, one.task_type) for one in episodes)
    said: list[str] = []
    for persona, task_type in arms:
        mine = [one for one in episodes if (one.persona, one.task_type) == (persona, task_type)]
        won = sum(one.succeeded for one in mine)
        cell = beliefs.personas.get(task_type, {}).get(persona)
        now = f"; Q is {cell.q:.2f} now" if cell else ""
        said.append(f"{persona} on {task_type}: {won} of {len(mine)} attempts succeeded{now}")
    return tuple(said)


def _enter(store: Store, namespace: str, newcomers: Sequence[Newcomer], at: float) -> list[Change]:
    entered: list[Change] = []
    for one in newcomers:
        change = store.personas.decide(
            namespace,
            lambda registry, one=one: invent(
                registry, one.name, one.system_prompt, one.task_type, at=at, known_as=one.persona
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
    seen = observed(entry for entry in latest if entry.episode.namespace == namespace)
    return store.personas.append(namespace, review(registry, seen, at=at))
