"""What the memory has for a planner: earlier plans for similar objectives, and the personas."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Literal

from ....memory.episode import Episode, Selection
from ....memory.persona.model import Persona
from ....text import one_line
from .facts import MOST_PLANS, EarlierPlan, EarlierStep, PersonaFact

if TYPE_CHECKING:
    from ....memory.learning.beliefs import Beliefs
    from ....memory.store import Store

__all__ = ["LEAST_SIMILARITY", "best_plans", "earlier_plan", "persona_facts", "similar_plans"]


_MOST_STEPS = 12
_CHARS = 200
_STATUSES = ("completed", "partial", "failed", "unfinished")
_STEP = re.compile(r"S[1-9][0-9]{0,3}")
"""A plan's step. An imported memory may have anything, and these names are shown unquoted."""
_KEPT = ("KEEP", "SKIP")
"""What lets a plan go on after a step's last attempt failed."""


def earlier_plan(episodes: Iterable[Episode], similarity: float = 1.0) -> EarlierPlan | None:
    """Return the plan of a run by its attempts, in any order; None without any."""
    known = [episode for episode in episodes if _STEP.fullmatch(episode.step)]
    ordered = sorted(known, key=lambda episode: (_number(episode.step), episode.attempt))
    if not ordered:
        return None
    tries = [[*group] for _, group in groupby(ordered, key=lambda episode: episode.step)]
    steps = [_step(attempts) for attempts in tries]
    tried = {step.id for step in steps}
    planned = {name for episode in ordered for name in _steps_of(episode.downstream)}
    not_begun = tuple(sorted(planned - tried, key=_number))
    begun_at = min(episode.started_at for episode in ordered)
    return EarlierPlan(
        run=ordered[0].run,
        objective=one_line(ordered[0].objective, _CHARS),
        similarity=round(similarity, 4),
        status=_status(steps, bool(not_begun)),
        makespan_s=max(0.0, max(episode.ended_at for episode in ordered) - begun_at),
        steps=tuple(steps[:_MOST_STEPS]),
        more_steps=max(0, len(steps) - _MOST_STEPS),
        not_begun=not_begun[:_MOST_STEPS],
    )


def best_plans(plans: Iterable[EarlierPlan]) -> tuple[EarlierPlan, ...]:
    """Return the plans worth showing: of the most similar objectives, then those that went best.

    Of plans with the same steps only the first is shown.
    """
    best: dict[tuple[object, ...], EarlierPlan] = {}
    for plan in sorted(plans, key=_rank):
        best.setdefault(tuple((step.prompt, step.needs) for step in plan.steps), plan)
    return tuple(best.values())[:MOST_PLANS]


def _rank(plan: EarlierPlan) -> tuple[object, ...]:
    # Similarities that differ by less say nothing about which objective is nearer.
    nearness = -round(plan.similarity, 1)
    return nearness, _STATUSES.index(plan.status), plan.makespan_s, plan.run


def _step(attempts: Sequence[Episode]) -> EarlierStep:
    last = attempts[-1]
    ended_well = last.succeeded or last.decision in _KEPT
    return EarlierStep(
        id=last.step,
        agent=one_line(last.persona, 80),
        prompt=one_line(last.prompt, _CHARS),
        needs=_steps_of(last.upstream)[:_MOST_STEPS],
        attempts=len(attempts),
        work_s=sum(attempt.duration_s for attempt in attempts),
        failed=None if ended_well else last.category,
    )


def _status(
    steps: Sequence[EarlierStep], not_begun: bool
) -> Literal["completed", "partial", "failed", "unfinished"]:
    failed = sum(step.failed is not None for step in steps)
    if failed == len(steps):
        return "failed"
    if failed:
        return "partial"
    return "unfinished" if not_begun else "completed"


def _steps_of(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(name for name in names if _STEP.fullmatch(name))


def _number(step: str) -> int:
    return int(step[1:])


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
