"""What the runs of a procedure's versions came to, and whether a version does worse."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from statistics import fmean

from ..errors import RunDamagedError
from ..text import dollars
from .procedures import StoredProcedure, versions_of
from .result import SwarmResult
from .runs import ListedRun, list_runs, median_known, open_listed

__all__ = [
    "LEAST_RUNS",
    "VersionFigures",
    "figures_of",
    "find_figures",
    "find_worse",
    "worse_words",
]

LEAST_RUNS = 5
"""Runs of a version that have ended, from which on it is compared with another."""
_MOST_READ = 20
_SHARE, _TIMES = 0.2, 1.2
"""How much lower a share, or higher a figure, has to be to be worse."""


@dataclass(frozen=True, slots=True)
class VersionFigures:
    """What the newest runs of a version came to, up to twenty that have ended.

    Attributes:
        version: The procedure with its version: `weekly-report@3`.
        completed: How many are completed: not partial, not failed.
        attempts: Attempts that a step took, in the mean over the runs.
        refused: The share of attempts that a gate refused.
        tokens, usd, seconds: The medians of what a run took; None where it isn't known.
    """

    version: str
    runs: int = 0
    completed: int = 0
    attempts: float = 0.0
    refused: float = 0.0
    tokens: float | None = None
    usd: float | None = None
    seconds: float | None = None


def find_figures(version: str) -> VersionFigures:
    """Return the figures of a version of a procedure from the runs that are stored.

    Raises:
        StorageError: They are in a database that can't be reached.
    """
    ended = list_runs(statuses=frozenset({"completed", "partial", "failed"}), procedure=version)
    found: list[tuple[ListedRun, SwarmResult]] = []
    for run in islice(ended, _MOST_READ):
        with suppress(RunDamagedError):
            if (result := open_listed(run).result()) is not None:
                found.append((run, result))
    return figures_of(version, found)


def find_worse(stored: StoredProcedure, figures: VersionFigures | None = None) -> str:
    """Say in what a version does worse than the one before it; "" where nothing is said.

    Args:
        stored: The version.
        figures: Its figures, where they are known already.

    Raises:
        StorageError: The runs are in a database that can't be reached.
    """
    name = stored.procedure.name
    earlier = [number for number in versions_of(name) if number < stored.version]
    if not earlier or (after := figures or find_figures(stored.reference)).runs < LEAST_RUNS:
        return ""
    return worse_words(after, find_figures(f"{name}@{earlier[-1]}"))


def figures_of(version: str, runs: Sequence[tuple[ListedRun, SwarmResult]]) -> VersionFigures:
    """Return the figures of a version from its runs and their results. Pure."""
    if not runs:
        return VersionFigures(version)
    tried = [[step.attempts for step in result.steps if step.attempts] for _, result in runs]
    refused = [
        attempt.category is not None and any(gate.status == "failed" for gate in attempt.gates)
        for steps in tried
        for attempts in steps
        for attempt in attempts
    ]
    return VersionFigures(
        version,
        runs=len(runs),
        completed=sum(result.status == "completed" for _, result in runs),
        attempts=_mean(_mean(map(len, steps)) for steps in tried if steps),
        refused=_mean(refused),
        tokens=median_known(run.tokens for run, _ in runs),
        usd=median_known(run.usd for run, _ in runs),
        seconds=median_known(run.makespan_s for run, _ in runs),
    )


def _mean(values: Iterable[float]) -> float:
    known = [*values]
    return fmean(known) if known else 0.0


def worse_words(after: VersionFigures, before: VersionFigures) -> str:
    """Say in what a version does worse than one before it; "" where nothing is said. Pure.

    Nothing is said of fewer than `LEAST_RUNS` runs of either. A share is worse that is lower by a
    fifth of all, another figure that is higher by a fifth of what it was.
    """
    if min(after.runs, before.runs) < LEAST_RUNS:
        return ""
    share, was = after.completed / after.runs, before.completed / before.runs
    found = [f"{share:.0%} completed, {was:.0%} before"] if share <= was - _SHARE else []
    if after.refused >= before.refused + _SHARE:
        found.append(f"gates refused {after.refused:.0%}, {before.refused:.0%} before")
    if after.attempts >= _TIMES * before.attempts:
        found.append(f"{after.attempts:.2f} attempts a step, {before.attempts:.2f} before")
    if after.usd is not None and before.usd is not None:
        if after.usd >= _TIMES * before.usd and after.usd > 0:
            found.append(f"{dollars(after.usd)} a run, {dollars(before.usd)} before")
    elif after.tokens and before.tokens and after.tokens >= _TIMES * before.tokens:
        found.append(f"{after.tokens:,.0f} tokens a run, {before.tokens:,.0f} before")
    if not found:
        return ""
    return f"{after.version} does worse than {before.version}: {'; '.join(found)}."
