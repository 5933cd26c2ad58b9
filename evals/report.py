"""Reports of evaluations: findings, comparison with an earlier report, storage."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Literal

from pydantic import Field, ValidationError

from ..data_types import Finite, Frozen, Moment
from ..errors import InputError
from ..files import decoded, file_problem, make_folder, read_text, storage_error, write_atomically
from ..settings import home
from ..untrusted.folder import read_file
from .checks import Verdict

__all__ = [
    "FIGURES",
    "CaseReport",
    "Comparison",
    "EvalReport",
    "EvalRun",
    "Figure",
    "Spread",
    "Worse",
    "compare",
    "last_report",
    "load_report",
    "report_path",
    "save_report",
    "spread_of",
]


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
        fingerprint: A hash of all that the case asks; how often it is run is not part of it.
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


def report_path(report: EvalReport) -> Path:
    """Return where a report is kept; the names of later ones sort after it."""
    started = datetime.fromtimestamp(report.started_at, UTC)
    return _folder(report.name) / f"{started:%Y-%m-%dT%H-%M-%S.%fZ}.json"


def save_report(report: EvalReport) -> Path:
    """Write a report, in the place of what it was before; return its path.

    Raises:
        StorageError: It can't be written; what was there before stays.
    """
    path, text = report_path(report), f"{report.model_dump_json(indent=1)}\n"
    try:
        make_folder(path.parent)
        write_atomically(path, text)
    except OSError as error:
        raise storage_error(path, len(text.encode()), error) from error
    return path


def last_report(name: str) -> tuple[Path, EvalReport] | None:
    """Return the newest report of a name whose runs were all made, and its path; None if none is.

    Raises:
        InputError: A newer one is damaged.
    """
    for path in sorted(_folder(name).glob("[0-9]*.json"), reverse=True):
        try:
            data = read_file(path)
        except OSError as error:
            raise file_problem(f"report {path}", error, "Remove it.") from None
        if (report := _report_of(path, decoded(data, f"report {path}"))).finished:
            return path, report
    return None


def load_report(path: Path) -> EvalReport:
    """Read a report.

    Raises:
        InputError: It can't be read, or is none.
    """
    return _report_of(path, read_text(path, "report"))


def _report_of(path: Path, text: str) -> EvalReport:
    try:
        return EvalReport.model_validate_json(text)
    except ValidationError as error:
        why = error.errors(include_url=False)[0]
        where = ".".join(map(str, why["loc"]))
        raise InputError(
            f"The report {path} is none of an evaluation: {where or 'it'}: {why['msg']}.",
            "Give a file that `prefect-swarm eval` wrote, or remove this one.",
        ) from None


def _folder(name: str) -> Path:
    return home() / "evals" / name
