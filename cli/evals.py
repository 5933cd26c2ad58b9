"""`prefect-swarm eval`: cases with checks, each run several times."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import ExitCode, RunCancelledError, StorageError
from ..evals.cases import EvalCase, EvalCases, read_cases
from ..evals.report import (
    CaseReport,
    Comparison,
    EvalReport,
    EvalRun,
    Figure,
    Spread,
    Worse,
    compare,
    last_report,
    load_report,
    report_path,
    save_report,
)
from ..flows.control import controlled
from ..flows.options import SwarmOptions
from ..flows.prefect_io.temporary_server import Server, prefect_server
from ..host.system import require_pydantic_evals
from ..plan.task_ir import is_orchestrated
from ..text import dollars, duration, one_line, plural
from .command import AsJson
from .source import check_models
from .terminal.interruption import interruptible
from .terminal.printing import print_json, print_section, print_table, print_text
from .terminal.session import say, waiting

__all__ = ["evaluate", "print_report", "run_line"]


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


_MODELS = ("model", "worker", "coder", "architect", "orchestrator")


def evaluate(
    file: Annotated[Path, typer.Argument(metavar="CASES.yaml", help="Cases with their checks.")],
    times: Annotated[
        int | None, typer.Option("--times", min=1, help="Runs of each case; the file's if empty.")
    ] = None,
    concurrency: Annotated[
        int,
        typer.Option(
            "--concurrency", min=1, help="Runs in parallel; makespans are comparable only with 1."
        ),
    ] = 1,
    baseline: Annotated[
        Path | None,
        typer.Option(
            "--baseline", metavar="FILE", help="Compare with this report, not with the last one."
        ),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Leave with 1 if something got worse, too.")
    ] = False,
    options: SwarmOptions = SwarmOptions(),  # noqa: B008 - frozen, and replaced by the options given
    as_json: AsJson = False,
) -> int:
    """Run cases several times, check their answers and budgets, and compare with the last time."""
    require_pydantic_evals()
    cases = read_cases(file, times, options.max_steps)
    earlier = _earlier(cases, baseline)
    asyncio.run(_check_models(cases, options))
    report = _ReportFile(_new_report(cases, options))
    try:
        _run(cases, options, concurrency, report)
    except RunCancelledError:
        if not as_json and report.now.runs:
            print_report(report.now, None)
        raise
    done = report.now.model_copy(update={"finished": True})
    compared = compare(done, earlier) if earlier is not None else None
    _show(done, compared, as_json=as_json)
    say(f"The report is {save_report(done)}.")
    is_worse = strict and compared is not None and bool(compared.worse)
    return ExitCode.COMPLETED if done.passed and not is_worse else ExitCode.FAILED


class _ReportFile:
    """A report that is written anew with each run: what is done survives whatever comes."""

    def __init__(self, report: EvalReport) -> None:
        self.now = report

    def add(self, case: EvalCase, run: EvalRun) -> None:
        """Take a run, write the report and say how the run ended."""
        self.now = self.now.with_run(case.name, run)
        with suppress(StorageError):  # the whole report is written at the end, or fails then
            save_report(self.now)
        say(run_line(case.name, case.times, run))


def _earlier(cases: EvalCases, baseline: Path | None) -> EvalReport | None:
    if baseline is not None:
        return load_report(baseline)
    found = last_report(cases.name)
    return found[1] if found is not None else None


async def _check_models(cases: EvalCases, options: SwarmOptions) -> None:
    """Refuse a model that is not available, of tiers and judges, before anything is run."""
    orchestrated = any(is_orchestrated(case.plan) for case in cases.cases)
    await check_models(options, orchestrated=orchestrated)
    judged = [case for case in cases.cases if case.checks.judge is not None]
    if judged:
        from ..evals.judge import judge_model

        for case in judged:
            # Blocks are kept on the Prefect server, which is started later.
            if not (case.judge or options.model_of("orchestrator")).startswith("block:"):
                await judge_model(case, options)


def _new_report(cases: EvalCases, options: SwarmOptions) -> EvalReport:
    named = {tier: str(name) for tier in _MODELS if (name := getattr(options, tier)) is not None}
    return EvalReport(
        name=cases.name,
        started_at=time.time(),
        models=named,
        cases=tuple(
            CaseReport(name=case.name, fingerprint=case.fingerprint, times=case.times)
            for case in cases.cases
        ),
    )


def _run(cases: EvalCases, options: SwarmOptions, concurrency: int, report: _ReportFile) -> None:
    from ..flows.preflight import check_storage

    check_storage()
    server = prefect_server(say)
    with waiting("Starting"):
        from ..evals.running import run_cases

        server.wait()

    async def go() -> None:
        await run_cases(cases, options, report.add, concurrency)

    asyncio.run(_interruptibly(go, server, report, sum(case.times for case in cases.cases)))


async def _interruptibly(
    go: Callable[[], Coroutine[Any, Any, None]], server: Server, report: _ReportFile, runs: int
) -> None:
    from prefect.exceptions import TerminationSignal

    async with interruptible(server, say) as interruption:
        try:
            with controlled(interruption.control):
                await go()
        except* TerminationSignal:
            # A flow run took the signal before it was under way.
            interruption.terminated = True
            interruption.control.cancel.set()
    if interruption.control.cancel.is_set():
        made = len(report.now.runs)
        note = f"They are kept in {report_path(report.now)}, and nothing is compared with them."
        raise interruption.error(
            f"Cancelled after {plural(made, 'run')} of {runs}", note if made else ""
        )


def _show(report: EvalReport, compared: Comparison | None, *, as_json: bool) -> None:
    if not as_json:
        print_report(report, compared)
        return
    print_json(
        {
            "status": "passed" if report.passed else "failed",
            "report": report.model_dump(mode="json"),
            "compared": compared.model_dump(mode="json") if compared is not None else None,
        }
    )
