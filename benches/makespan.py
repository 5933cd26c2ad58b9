"""How near the schedule comes to the shortest run that there can be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median, quantiles

from random_plans import RandomPlan, Shape, in_levels, in_reach, random_plans
from simulate import makespan
from waves import wave_makespan

__all__ = ["run"]

PLANS = 1_000
SEED = 20_261_101
SHAPES = {"Each step needs some of those just before it": in_reach, "Steps on levels": in_levels}
HEAD = f"""\
## Makespan

{PLANS:,} random plans of each shape, 20 to 300 steps, log-normal durations (σ = 1), 4 to 100
slots, under a virtual clock. Each figure is the makespan divided by the larger of critical path
and work ÷ slots, which nothing can beat. Most plans are easy: almost any order is good where one
of the two is far larger. The hard plans, where neither is more than twice the other, are shown
apart.

Where durations are unknown every step counts as 1. What is lost then is not knowing which step
will be the long one: taking steps in the plan's own order, without any priorities, loses about as
much. The waves know the durations and take the longest step first."""


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
    """Simulate every plan with each scheduler and return the tables."""
    return "\n".join(
        [HEAD, *(line for name, shape in SHAPES.items() for line in _table(name, shape))]
    )


def _table(name: str, shape: Shape) -> list[str]:
    plans = [_measure(plan) for plan in random_plans(PLANS, SEED, shape)]
    hard = [plan for plan in plans if plan.hard]
    return [
        "",
        f"### {name}",
        "",
        "| Scheduler | Median | p95 | Worst | Goal (median, p95) |",
        "|---|---:|---:|---:|---|",
        _row("durations known", [plan.known for plan in plans], "≤ 1.005, ≤ 1.020"),
        _row("durations unknown", [plan.unknown for plan in plans], "≤ 1.020, ≤ 1.100"),
        _row("the plan's own order", [plan.unordered for plan in plans]),
        _row("waves with barriers", [plan.waves for plan in plans]),
        _row(f"the {len(hard)} hard plans, durations known", [plan.known for plan in hard]),
        _row("hard plans, durations unknown", [plan.unknown for plan in hard]),
        _row("hard plans, the plan's own order", [plan.unordered for plan in hard]),
        _row("hard plans, waves with barriers", [plan.waves for plan in hard]),
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


def _row(name: str, ratios: Sequence[float], goal: str = "") -> str:
    p95 = quantiles(ratios, n=20)[-1]
    return f"| {name} | {median(ratios):.3f} | {p95:.3f} | {max(ratios):.3f} | {goal} |"
