"""What the memory has for a planner: earlier plans for similar objectives, and the personas."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....memory.episode import Selection
from ....memory.persona.model import Persona
from ....text import one_line
from .earlier import best_plans, earlier_plan
from .facts import EarlierPlan, PersonaFact

if TYPE_CHECKING:
    from ....memory.learning.beliefs import Beliefs
    from ....memory.store import Store

__all__ = ["LEAST_SIMILARITY", "persona_facts", "similar_plans"]

LEAST_SIMILARITY = 0.5
"""Of two objectives; below it they share words and no purpose."""
_NEIGHBOURS = 60
_RUNS = 12
"""Attempts whose prompts are like the objective, and the runs of theirs that are looked at."""
_MOST_PERSONAS = 24


def similar_plans(
    store: Store, namespace: str, objective: str, run: str = ""
) -> tuple[EarlierPlan, ...]:
    """Return the best earlier plans for objectives like this one.

    The index has the prompts of steps, which say what an objective is about: those most like it
    lead to runs, and the runs' objectives decide.

    Args:
        store: The memory.
        namespace: Whose.
        objective: What is wanted now.
        run: The run that asks, which is none of the earlier ones.

    Raises:
        MemoryStoreError: The log can't be read, or the embedder fails.
    """
    if not store.log.count(namespace):
        return ()
    objectives: dict[str, str] = {}
    for entry, _ in store.similar(namespace, objective, _NEIGHBOURS):
        if entry.episode.run != run and entry.episode.objective.strip():
            objectives.setdefault(entry.episode.run, entry.episode.objective)
    near = [*objectives.items()][:_RUNS]
    if not near:
        return ()
    own, *others = store.embedder.embed([objective, *(text for _, text in near)])
    similarities = {name: float(own @ other) for (name, _), other in zip(near, others, strict=True)}
    plans = (
        _plan_of(store, namespace, name, similarity)
        for name, similarity in similarities.items()
        if similarity >= LEAST_SIMILARITY
    )
    return best_plans(plan for plan in plans if plan is not None)


def _plan_of(store: Store, namespace: str, run: str, similarity: float) -> EarlierPlan | None:
    entries = store.log.select(namespace, Selection(run=run))
    return earlier_plan((entry.episode for entry in entries), similarity)


def persona_facts(store: Store, namespace: str) -> tuple[PersonaFact, ...]:
    """Return the personas that may be given steps: those with the longest records first.

    Raises:
        InputError: A persona of the user's is wrong.
        MemoryStoreError: The memory can't be read.
    """
    known = store.personas.registry(namespace).known.values()
    beliefs = store.beliefs(namespace)
    facts = [
        _persona_fact(each.persona, beliefs)
        for each in known
        if each.status in ("active", "promoted")
    ]
    return tuple(sorted(facts, key=lambda fact: (-fact.attempts, fact.name)))[:_MOST_PERSONAS]


def _persona_fact(persona: Persona, beliefs: Beliefs) -> PersonaFact:
    tally = beliefs.persona(persona.name)
    counted = tally.won + tally.lost
    return PersonaFact(
        name=persona.name,
        title=persona.title,
        task_types=persona.task_types[:3],
        good_at=one_line(persona.instructions, 120),
        attempts=round(counted),
        rate=min(1.0, max(0.0, tally.won / counted)) if counted > 0 else 0.0,
    )
