"""Earlier plans, read back from the attempts that are remembered of them. Pure.

The log needs no record of plans: a step's prompt, who did it, what it read and what read it are in
each of its attempts. So what is forgotten of a run is in no plan either.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Literal

from ....memory.episode import Episode
from ....text import one_line
from .facts import MOST_PLANS, EarlierPlan, EarlierStep

__all__ = ["best_plans", "earlier_plan"]

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
