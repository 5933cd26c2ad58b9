"""What an evaluation found: its runs, and the figures of a case over them. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

from pydantic import Field

from ..frozen import Frozen
from ..untrusted.figures import Finite, Moment
from .checks import Verdict

__all__ = ["FIGURES", "CaseReport", "EvalReport", "EvalRun", "Figure", "Spread", "spread_of"]

Figure = Literal["makespan_s", "steps", "tokens", "usd"]
FIGURES: tuple[Figure, ...] = ("makespan_s", "steps", "tokens", "usd")


@dataclass(frozen=True, slots=True)
class Spread:
    """The median of some values, the lowest and the highest, and how many there are."""

    median: float
    low: float
    high: float
    count: int

    @property
    def width(self) -> float:
        """From the lowest to the highest."""
        return self.high - self.low


def spread_of(values: Sequence[float]) -> Spread | None:
    """Return the spread of some values; None if there are none."""
    if not values:
        return None
    return Spread(float(median(values)), min(values), max(values), len(values))


class EvalRun(Frozen):
    """One run of a case. Its figures are None where it came to no result, or no price is known."""

    number: int = Field(description="Which run of the case, from 1.")
    run_id: str = Field(default="", description='"" if it never began.')
    status: str = Field(description="As the swarm's result has it; `failed` without one.")
    verdicts: tuple[Verdict, ...]
    makespan_s: Finite | None = None
    steps: int | None = None
    tokens: int | None = None
    usd: Finite | None = None
    judge_tokens: int = Field(default=0, description="Tokens that the judge read and wrote.")
    judge_usd: float | None = Field(default=None, description="What they cost, if that is known.")

    @property
    def passed(self) -> bool:
        """Whether all checks passed."""
        return all(verdict.passed for verdict in self.verdicts)


class CaseReport(Frozen):
    """A case and its runs, by their numbers.

    Attributes:
        fingerprint: A hash of all that the case asks; how often it is run is no part of it.
        times: How often it was to be run.
    """

    name: str
    fingerprint: str
    times: int
    runs: tuple[EvalRun, ...] = ()

    @property
    def passes(self) -> int:
        """Runs that passed."""
        return sum(run.passed for run in self.runs)

    def spread(self, figure: Figure) -> Spread | None:
        """Return a figure's spread over the completed runs, which alone can be compared."""
        values: list[float | None] = [
            getattr(run, figure) for run in self.runs if run.status == "completed"
        ]
        return spread_of([value for value in values if value is not None])

    def with_run(self, run: EvalRun) -> CaseReport:
        """Return the report with one more run."""
        runs = sorted([*self.runs, run], key=lambda each: each.number)
        return self.model_copy(update={"runs": tuple(runs)})


class EvalReport(Frozen):
    """A whole evaluation.

    Attributes:
        name: What its reports are kept under.
        started_at: Seconds since the epoch.
        models: The models that the options named, by tier; `model` serves those without their own.
        finished: Whether all runs were made; a report of fewer isn't compared with.
    """

    name: str
    started_at: Moment
    models: dict[str, str]
    finished: bool = False
    cases: tuple[CaseReport, ...]

    @property
    def runs(self) -> list[EvalRun]:
        """All runs that were made."""
        return [run for case in self.cases for run in case.runs]

    @property
    def passed(self) -> bool:
        """Whether every run passed, and there are no others to make."""
        return self.finished and all(run.passed for run in self.runs)

    def with_run(self, case: str, run: EvalRun) -> EvalReport:
        """Return the report with one more run of a case."""
        cases = (each.with_run(run) if each.name == case else each for each in self.cases)
        return self.model_copy(update={"cases": tuple(cases)})
