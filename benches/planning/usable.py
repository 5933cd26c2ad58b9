"""How many of the objectives of `objectives.jsonl` get a usable plan, by `rule.py`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from planner import Planned, Planner
from prefect_swarm.tasks.planner.plan_score import score
from rule import Objective, flaw, load

__all__ = ["Result", "measure_usable", "usable_table"]


@dataclass(frozen=True)
class Result:
    """One objective's plan; `flaw` is empty if it is usable. `seconds` counts all samples."""

    wanted: Objective
    planned: Planned
    flaw: str
    seconds: float

    @property
    def repeats(self) -> bool:
        """Whether some step repeats another."""
        plan = self.planned.plan
        return plan is not None and score(plan, self.wanted.objective).repeated > 0


async def measure_usable(planner: Planner, *, show: bool) -> list[Result]:
    """Plan every objective of the file, one after another."""
    results: list[Result] = []
    for wanted in load(Path(__file__).with_name("objectives.jsonl")):
        began = time.perf_counter()
        planned = await planner(wanted.objective)
        seconds = time.perf_counter() - began
        amiss = flaw(planned.plan, wanted) if planned.plan else "unreadable"
        results.append(Result(wanted, planned, amiss, seconds))
        if show:
            _show(results[-1])
    return results


def usable_table(results: Sequence[Result]) -> str:
    """Return a markdown table, a row for each kind of objective."""
    lines = [
        "| Objectives | of | valid | usable | with repeats | samples | tokens written | s a plan |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    kinds = dict.fromkeys(result.wanted.kind for result in results)
    rows = [
        _row(kind, [result for result in results if result.wanted.kind == kind]) for kind in kinds
    ]
    return "\n".join([*lines, *rows, _row("**all**", results)])


def _row(name: str, results: Sequence[Result]) -> str:
    count = len(results)
    figures = [
        str(count),
        str(sum(result.planned.plan is not None for result in results)),
        str(sum(not result.flaw for result in results)),
        str(sum(result.repeats for result in results)),
        f"{sum(result.planned.samples for result in results) / count:.1f}",
        f"{sum(result.planned.tokens for result in results) / count:.0f}",
        f"{sum(result.seconds for result in results) / count:.1f}",
    ]
    return f"| {name} | {' | '.join(figures)} |"


def _show(result: Result) -> None:
    print(f"[{result.flaw or 'usable'}] {' '.join(result.wanted.objective.split())}")
    if result.planned.plan:
        print(f"{result.planned.lines}\n")
