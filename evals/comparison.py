"""What got worse since an earlier report. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from ..frozen import Frozen
from .report import FIGURES, CaseReport, EvalReport, Figure

__all__ = ["Comparison", "Worse", "compare"]

_LEAST_RUNS = 2  # of either report: fewer have no spread


class Worse(Frozen):
    """A figure of a case that got worse. `passes` is the share of runs that passed, 0 to 1."""

    case: str
    figure: Literal["passes"] | Figure
    before: float
    after: float


class Comparison(Frozen):
    """How a report compares with an earlier one."""

    since: float = Field(description="When the earlier began, in seconds since the epoch.")
    worse: tuple[Worse, ...] = ()
    new: tuple[str, ...] = Field(default=(), description="Cases that the earlier doesn't have.")
    changed: tuple[str, ...] = Field(
        default=(), description="Cases that asked something else then, and aren't compared."
    )

    def of(self, case: str) -> list[Worse]:
        """Return what got worse of a case."""
        return [worse for worse in self.worse if worse.case == case]


def compare(report: EvalReport, earlier: EvalReport) -> Comparison:
    """Find what got worse, case by case.

    The share of runs that passed fell; or a figure's median rose by more than both reports'
    values are apart, taken together. With one run in either there is no telling how far they would
    be apart, and figures aren't compared.
    """
    before = {case.name: case for case in earlier.cases if case.runs}
    known = [case for case in report.cases if case.name in before and case.runs]
    same = [case for case in known if case.fingerprint == before[case.name].fingerprint]
    return Comparison(
        since=earlier.started_at,
        worse=tuple(worse for case in same for worse in _worse(case, before[case.name])),
        new=tuple(case.name for case in report.cases if case.name not in before),
        changed=tuple(case.name for case in known if case not in same),
    )


def _worse(case: CaseReport, earlier: CaseReport) -> Iterator[Worse]:
    before, after = (each.passes / len(each.runs) for each in (earlier, case))
    if after < before:
        yield Worse(case=case.name, figure="passes", before=before, after=after)
    for figure in FIGURES:
        was, now = earlier.spread(figure), case.spread(figure)
        if was is None or now is None or min(was.count, now.count) < _LEAST_RUNS:
            continue
        if now.median - was.median > was.width + now.width:
            yield Worse(case=case.name, figure=figure, before=was.median, after=now.median)
