"""What a person reads of an evaluation: a table, what failed, and what got worse."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime

from ...evals.comparison import Comparison, Worse
from ...evals.report import CaseReport, EvalReport, EvalRun, Figure, Spread
from ...text import dollars, duration, one_line, plural
from ..output.printing import print_section, print_table, print_text

__all__ = ["print_report", "run_line"]

_HEADER = ("Case", "Passed", "Makespan", "Steps", "Tokens", "Cost", "Since the last")
_RIGHT = frozenset({"Passed", "Makespan", "Steps", "Tokens", "Cost"})


def _whole(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:,.1f}"


_WRITTEN: dict[Figure, Callable[[float], str]] = {
    "makespan_s": duration,
    "steps": _whole,
    "tokens": _whole,
    "usd": dollars,
}
_NAMES = {"makespan_s": "makespan", "usd": "cost"}


def run_line(case: str, times: int, run: EvalRun) -> str:
    """Write how one run ended in a line."""
    made = f"{case}, run {run.number} of {times}"
    took = f" in {duration(run.makespan_s)}" if run.makespan_s is not None else ""
    return f"{made}: {'passed' if run.passed else 'failed'}{took}{_why(run)}"


def print_report(report: EvalReport, compared: Comparison | None) -> None:
    """Print the table, a line for each run that failed, and what got worse."""
    title = f"{report.name}: {sum(run.passed for run in report.runs)} of "
    print_section(f"{title}{plural(len(report.runs), 'run')} passed")
    print_table(_HEADER, [_row(case, compared) for case in report.cases], right=_RIGHT)
    print_text("Median (lowest to highest) of the completed runs.")
    failed = [(case, run) for case in report.cases for run in case.runs if not run.passed]
    if failed:
        print_section("Failed", [f"{case.name} [{run.number}]{_why(run)}" for case, run in failed])
    if worse := list(_worse_lines(compared)):
        print_section(_since(compared, "Worse than"), worse)
    for line in _spent(report, compared):
        print_text(line)


def _row(case: CaseReport, compared: Comparison | None) -> tuple[str, ...]:
    figures = (_cell(case.spread(figure), write) for figure, write in _WRITTEN.items())
    return (case.name, f"{case.passes}/{len(case.runs)}", *figures, _state(case, compared))


def _cell(spread: Spread | None, write: Callable[[float], str]) -> str:
    if spread is None:
        return "-"
    middle, low, high = write(spread.median), write(spread.low), write(spread.high)
    return middle if low == high else f"{middle} ({low} to {high})"


def _state(case: CaseReport, compared: Comparison | None) -> str:
    if compared is None or case.name in compared.new:
        return "new"
    if case.name in compared.changed:
        return "changed, not compared"
    worse = compared.of(case.name)
    names = (_NAMES.get(each.figure, each.figure) for each in worse)
    return f"worse: {', '.join(names)}" if worse else "no worse"


def _why(run: EvalRun) -> str:
    found = "; ".join(
        f"{each.check}: {each.reason}".rstrip(": ") for each in run.verdicts if not each.passed
    )
    place = f" (run {run.run_id})" if run.run_id and found else ""
    return f": {one_line(found, 300)}{place}" if found else ""


def _worse_lines(compared: Comparison | None) -> Iterator[str]:
    for each in compared.worse if compared else ():
        write = _write_of(each)
        name = _NAMES.get(each.figure, each.figure)
        yield f"{each.case}: {name} {write(each.before)}, now {write(each.after)}"


def _write_of(worse: Worse) -> Callable[[float], str]:
    return (lambda share: f"{share:.0%}") if worse.figure == "passes" else _WRITTEN[worse.figure]


def _since(compared: Comparison | None, what: str) -> str:
    if compared is None:
        return "There is no earlier report to compare with."
    when = datetime.fromtimestamp(compared.since).astimezone()
    return f"{what} the report of {when:%Y-%m-%d %H:%M:%S}"


def _spent(report: EvalReport, compared: Comparison | None) -> Iterator[str]:
    runs = report.runs
    tokens = sum(run.tokens or 0 for run in runs)
    yield f"All runs: {plural(tokens, 'token')}{_priced([run.usd for run in runs])}."
    judged = [run for run in runs if run.judge_tokens]
    if judged:
        tokens = sum(run.judge_tokens for run in judged)
        yield f"Judges: {plural(tokens, 'token')}{_priced([run.judge_usd for run in judged])}."
    if compared is None or not compared.worse:
        yield f"{_since(compared, 'No worse than')}".removesuffix(".") + "."


def _priced(costs: list[float | None]) -> str:
    known = [cost for cost in costs if cost is not None]
    some = "" if len(known) == len(costs) else f", and {plural(len(costs) - len(known), 'run')}"
    unpriced = f"{some} of unknown price" if some else ""
    return f", {dollars(sum(known))}{unpriced}" if known else ", of unknown price"
