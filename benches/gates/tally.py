"""Tallies of the steps' outcomes, and their tables. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict
from steps import KINDS, Kind

__all__ = ["BenchReport", "Measured", "Outcome", "kinds_table", "table"]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Outcome(_Frozen):
    """What came of one step.

    Attributes:
        accepted: Whether the swarm took the artifact for the step's output.
        flaw: What the hidden test says against what was accepted; nothing if it is right.
        attempts: Attempts at the step, `candidates` all texts that these asked for.
        tokens: Tokens read and written by all of its attempts, as far as they were counted.
    """

    id: str
    kind: Kind
    accepted: bool
    artifact: str = ""
    flaw: str = ""
    reason: str = ""
    attempts: int = 1
    candidates: int = 1
    tokens: int = 0
    tokens_saved: int = 0

    @property
    def right(self) -> bool:
        """Whether it was accepted and is right."""
        return self.accepted and not self.flaw


class Measured(_Frozen):
    """All steps under one configuration.

    Attributes:
        tokens: Tokens of all of it, those of replacing steps included.
        seconds: From the first step's start to the last one's end, without judging.
    """

    configuration: str
    outcomes: tuple[Outcome, ...]
    tokens: int
    seconds: float


class BenchReport(_Frozen):
    """One run of the bench."""

    machine: str
    model: str
    coder: str = ""
    seed: int = 0
    measured: tuple[Measured, ...] = ()


def table(report: BenchReport) -> str:
    """Return a Markdown table, a row for each configuration."""
    lines = [
        "| Configuration | steps | accepted | right | accepted but wrong | pass rate "
        "| attempts a step | candidates a step | tokens a success | seconds |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    return "\n".join([*lines, *map(_row, report.measured)])


def kinds_table(report: BenchReport) -> str:
    """Return a Markdown table, a row for each kind: right and accepted, by configuration."""
    names = [f"{measured.configuration}: right / accepted" for measured in report.measured]
    lines = [f"| Kind | steps | {' | '.join(names)} |", f"|---|--:|{'--:|' * len(names)}"]
    return "\n".join([*lines, *(_kind_row(kind, report.measured) for kind in KINDS)])


def _row(measured: Measured) -> str:
    outcomes = measured.outcomes
    count, right = len(outcomes), sum(outcome.right for outcome in outcomes)
    accepted = sum(outcome.accepted for outcome in outcomes)
    figures = [
        count,
        accepted,
        right,
        accepted - right,
        f"{right / count:.0%}",
        f"{sum(outcome.attempts for outcome in outcomes) / count:.2f}",
        f"{sum(outcome.candidates for outcome in outcomes) / count:.2f}",
        f"{measured.tokens / right:,.0f}" if right else "",
        f"{measured.seconds:.0f}",
    ]
    return f"| {measured.configuration} | {' | '.join(map(str, figures))} |"


def _kind_row(kind: Kind, measured: Sequence[Measured]) -> str:
    of_kind = [[outcome for outcome in some.outcomes if outcome.kind == kind] for some in measured]
    cells = [
        f"{sum(outcome.right for outcome in outcomes)} / "
        f"{sum(outcome.accepted for outcome in outcomes)}"
        for outcomes in of_kind
    ]
    return f"| {kind} | {len(of_kind[0]) if of_kind else 0} | {' | '.join(cells)} |"
