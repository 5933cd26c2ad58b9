"""How near the schedule comes to the shortest run that there can be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from statistics import median, quantiles

from random_plans import RandomPlan, in_levels, in_reach, random_plans
from simulate import makespan
from waves import wave_makespan

__all__ = ["run"]

PLANS = 1_000
SEED = 20_261_101
SHAPES = {"near": in_reach, "levels": in_levels}
GOALS = {"known": (1.005, 1.020), "unknown": (1.020, 1.100)}
HEAD = f"""\
## Makespan

How near does the schedule come to the shortest run that there can be? {PLANS:,} random plans of
each shape, 20 to 300 steps, 4 to 100 slots, log-normal durations (σ = 1), under a virtual clock.
Figures are the makespan ÷ the larger of critical path and work ÷ slots, which nothing can beat.
*Near*: each step needs some of those just before it. *Levels*: steps on levels. In *hard* plans
neither bound is more than twice the other; in others almost any order is good. Where durations are
unknown every step counts as 1. The waves know them, and take the longest step first.
"""
SCHEDULERS = {
    "known": "durations known",
    "unknown": "durations unknown",
    "unordered": "the plan's own order",
    "waves": "waves with barriers",
}


@dataclass(frozen=True, slots=True)
class Measured:
    """One plan: work ÷ slots over the critical path, and each makespan over the lower bound."""

    load: float
    known: float
    unknown: float
    unordered: float
    waves: float

    @property
    def hard(self) -> bool:
        """Both bounds matter; where one rules alone, almost any order is as good."""
        return 0.5 <= self.load <= 2


def run() -> str:
    """Simulate every plan with each scheduler and return the table."""
    plans = {
        name: [_measure(plan) for plan in random_plans(PLANS, SEED, shape)]
        for name, shape in SHAPES.items()
    }
    hard = {name: [plan for plan in found if plan.hard] for name, found in plans.items()}
    figures = " | ".join(f"{name}: median | p95 | worst" for name in SHAPES)
    return "\n".join(
        [
            HEAD,
            f"| Scheduler | {figures} | goal: median, p95 |",
            "|---" + "|---:" * 3 * len(SHAPES) + "|---|",
            *_rows("all", plans, GOALS),
            *_rows(f"{' and '.join(f'{len(found)}' for found in hard.values())} hard", hard),
        ]
    )


def _rows(
    which: str, plans: Mapping[str, Sequence[Measured]], goals: Mapping[str, Sequence[float]] = {}
) -> list[str]:
    rows: list[str] = []
    for scheduler, words in SCHEDULERS.items():
        goal = goals.get(scheduler, ())
        cells = [
            cell
            for found in plans.values()
            for cell in _cells([getattr(plan, scheduler) for plan in found], goal)
        ]
        at_most = ", ".join(f"≤ {bound:.3f}" for bound in goal)
        rows.append(f"| {which}, {words} | {' | '.join(cells)} | {at_most} |")
    return rows


def _cells(ratios: Sequence[float], goal: Sequence[float]) -> list[str]:
    bounds = (*goal, inf, inf, inf)
    figures = (median(ratios), quantiles(ratios, n=20)[-1], max(ratios))
    return [
        f"{figure:.3f}" if figure <= bound else f"**{figure:.3f}**"
        for figure, bound in zip(figures, bounds, strict=False)
    ]


def _measure(plan: RandomPlan) -> Measured:
    critical_path, shared_work = plan.bounds()
    bound = max(critical_path, shared_work)
    known, unknown = plan.jobs(known=True), plan.jobs(known=False)
    return Measured(
        load=shared_work / critical_path,
        known=makespan(known, plan.slots) / bound,
        unknown=makespan(unknown, plan.slots) / bound,
        unordered=makespan([replace(job, priority=1) for job in known], plan.slots) / bound,
        waves=wave_makespan(known, plan.slots) / bound,
    )
