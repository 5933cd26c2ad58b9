"""Objectives that were planned anew again and again: what a procedure of their plan would save."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from statistics import median

from .attempt import Usage
from .runs import ListedRun, median_known

__all__ = ["LEAST_ALIKE", "Recurring", "find_recurring"]

LEAST_ALIKE = 5
"""Runs alike that were planned anew, from which on a procedure is worth a word."""
_MOST_READ = 20


@dataclass(frozen=True, slots=True)
class Recurring:
    """Runs whose objectives are the same but for figures, each planned by a model.

    Attributes:
        run: The completed one that took the fewest tokens.
        objective: Its objective.
        values: The figures in it that other runs have otherwise.
        runs: How many there are, of the newest twenty.
        tokens: The median of what they took; `planning_tokens` of what their plans took.
        usd: The same in dollars; None where no price is known.
    """

    run: str
    objective: str
    values: tuple[str, ...]
    runs: int
    tokens: float
    planning_tokens: float
    usd: float | None = None
    planning_usd: float | None = None


def find_recurring(
    runs: Iterable[ListedRun], planning_of: Callable[[ListedRun], Usage | None]
) -> list[Recurring]:
    """Return what recurs among completed runs, the dearest planning in all first. Pure.

    Args:
        runs: Completed runs, the newest first.
        planning_of: Returns what a run's plan took; None if no model wrote it.
    """
    kinds: dict[str, list[ListedRun]] = {}
    for run in runs:
        kinds.setdefault(run.kind, []).append(run)
    likely = (alike for alike in kinds.values() if len(alike) >= LEAST_ALIKE)
    found = (_recurring(alike, planning_of) for alike in likely)
    return sorted(
        (each for each in found if each is not None),
        key=lambda each: -each.runs * each.planning_tokens,
    )


def _recurring(
    alike: Sequence[ListedRun], planning_of: Callable[[ListedRun], Usage | None]
) -> Recurring | None:
    planned = [
        (run, usage)
        for run in islice(alike, _MOST_READ)
        if (usage := planning_of(run)) is not None and usage.requests
    ]
    if len(planned) < LEAST_ALIKE:
        return None
    best = min((run for run, _ in planned), key=lambda run: run.tokens or 0)
    return Recurring(
        run=best.run_id,
        objective=best.objective,
        values=_differing(best, [run for run, _ in planned]),
        runs=len(planned),
        tokens=median(run.tokens or 0 for run, _ in planned),
        planning_tokens=median(usage.tokens for _, usage in planned),
        usd=median_known(run.usd for run, _ in planned),
        planning_usd=median_known(usage.cost_usd for _, usage in planned),
    )


def _differing(run: ListedRun, others: Sequence[ListedRun]) -> tuple[str, ...]:
    """Return the figures of an objective that not all others have at the same place."""
    columns = zip(*(other.figures for other in others), strict=False)
    differs = [len(set(column)) > 1 for column in columns]
    own = zip(run.figures, differs, strict=False)
    return tuple(dict.fromkeys(value for value, other in own if other))
