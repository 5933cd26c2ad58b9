"""`prefect-swarm fork` and `prefect-swarm diff`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..plan.task_ir import TaskIR, asks_agents, is_orchestrated
from ..store.diff import (
    FieldChange,
    PlanDifference,
    RunDifference,
    StepDiff,
    TextDifference,
    compare_runs,
)
from ..store.result import SwarmResult
from ..text import dollars, duration, one_line, plural
from .approvals import read_edit
from .command import AsEvents, AsJson, Verbose, as_step_id
from .options import OptionChanges
from .run import RunName
from .source import check_models
from .terminal.printing import print_json, print_section, print_table, print_text
from .terminal.session import check_output, run_and_report, say

if TYPE_CHECKING:
    from ..flows.resume import PreparedFork
    from ..store.protocol import RunStore

__all__ = ["diff", "fork", "print_difference"]


_SHOWN = 300  # characters of a value


def print_difference(found: RunDifference) -> None:
    """Print why two runs differ most, their figures, steps, plans and answers."""
    print_section(f"Runs {found.runs[0]} and {found.runs[1]}")
    if found.cause:
        print_text(found.cause)
    print_section("Figures")
    print_table(("Figure", *found.runs), list(_figure_rows(found)))
    print_section("Steps")
    _print_steps(found.steps)
    _print_plan(found.plan)
    print_section("Answers")
    _print_answers(found.answer)


def _print_plan(plan: PlanDifference) -> None:
    print_section("Plans")
    if plan.is_empty:
        print_text("They are the same.")
        return
    if plan.removed:
        print_text(f"removed: {', '.join(plan.removed)}")
    if plan.added:
        print_text(f"added: {', '.join(plan.added)}")
    for step in plan.changed:
        for change in step.changes:
            _print_change(f"{step.step} ", change)
    for change in plan.fields:
        _print_change("", change)
    if plan.inputs:
        print_text(f"inputs that differ: {', '.join(plan.inputs)}")


def _print_change(place: str, change: FieldChange) -> None:
    print_text(f"{place}{change.field}")
    print_text(f"  - {one_line(change.before, _SHOWN)}")
    print_text(f"  + {one_line(change.after, _SHOWN)}")


def _print_answers(answer: TextDifference | None) -> None:
    if answer is None:
        print_text("A run that has not ended has none.")
    elif answer.is_same:
        print_text("They are the same.")
    else:
        print_text("\n".join(answer.lines) or "They differ in white space alone.")
        if answer.left_out:
            print_text(f"{answer.left_out:,} more lines differ.")
        if answer.is_cut:
            print_text("What comes after their first 2,000 lines wasn't compared.")


_STEP_COLUMNS = ("Step", "Status", "Attempts", "Tokens", "Cost", "Time", "Model")


def _print_steps(steps: Sequence[StepDiff]) -> None:
    """Print a row for each step, the first run's value before the second's where they differ."""
    rows = [_step_row(step) for step in steps]
    shown = [at for at in range(len(_STEP_COLUMNS)) if at < 2 or any(row[at] for row in rows)]
    header = [_STEP_COLUMNS[at] for at in shown]
    print_table(header, [[row[at] for at in shown] for row in rows])


def _step_row(step: StepDiff) -> tuple[str, ...]:
    has_run = [bool(attempts) for attempts in step.attempts]
    seconds = [duration(each) if has_run[side] else "" for side, each in enumerate(step.seconds)]
    usd = ["" if each is None else dollars(each) for each in step.usd]
    return (
        step.step,
        _both([_way(step, 0), _way(step, 1)]),
        _both([f"{each:,}" if each else "" for each in step.attempts]),
        _both([f"{each:,}" if each else "" for each in step.tokens]),
        _both(usd),
        _both(seconds),
        _both([one_line(each, 40) for each in step.models]),
    )


def _both(values: Sequence[str]) -> str:
    before, after = values
    return before if before == after else f"{before or '–'} → {after or '–'}"


def _way(step: StepDiff, side: int) -> str:
    if step.taken_from[side]:
        return f"taken over from {step.taken_from[side]}"
    summary = one_line(step.summaries[side], 60)
    return ": ".join(filter(None, [step.statuses[side], summary]))


_FIRST = ("money_usd", "tokens", "calls", "total_s", "makespan_s")


def _figure_rows(found: RunDifference) -> Iterator[tuple[str, str, str]]:
    yield ("status", *found.statuses)
    figures = {**found.metrics, **found.cost}
    first = {name: figures[name] for name in _FIRST}
    for name, (before, after) in {**first, **figures}.items():
        # What both have nothing of says nothing.
        if before or after:
            yield (_title(name), _figure(name, before), _figure(name, after))


def _title(name: str) -> str:
    return "cost" if name == "money_usd" else name.removesuffix("_s").replace("_", " ")


def _figure(name: str, value: float | None) -> str:
    if value is None:
        return ""
    if name == "money_usd":
        return dollars(value)
    if name.endswith("_s"):
        return duration(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:.2f}"


FirstRun = Annotated[str, typer.Argument(metavar="RUN", help="A run's id, or its flow run's.")]
SecondRun = Annotated[str, typer.Argument(metavar="RUN", help="The run that it is compared with.")]


def diff(first: FirstRun, second: SecondRun, as_json: AsJson = False) -> int:
    """Show two runs side by side: why they differ most, figures, steps, plans and answers."""
    from ..flows.fork import compared_run

    found = compare_runs(compared_run(first), compared_run(second))
    if as_json:
        print_json(found)
    else:
        print_difference(found)
    return 0


EditedPlan = Annotated[
    Path | None,
    typer.Option(
        "--plan", metavar="FILE", help="A plan as YAML or JSON in the place of the run's own."
    ),
]
FromStep = Annotated[
    list[str] | None,
    typer.Option(
        "--from",
        metavar="STEP",
        help="A step, or an instance such as S2[3], that is done anew, with all that depend on it; "
        "repeatable.",
    ),
]
FromTurn = Annotated[
    int,
    typer.Option(
        "--turn",
        min=0,
        metavar="K",
        help="Go on after turn K of the orchestrator, as the run was then; it directs on.",
    ),
]


def fork(
    run_name: RunName,
    plan: EditedPlan = None,
    again: FromStep = None,
    turn: FromTurn = 0,
    overrides: OptionChanges = OptionChanges(),  # noqa: B008 - replaced by the options given
    verbose: Verbose = False,
    as_json: AsJson = False,
    stream: AsEvents = False,
) -> int:
    """Start a new run that takes over the finished steps of another one.

    A finished step is taken over if the plan asks it for the same and it reads the same; it isn't
    asked again. Options that are given take the place of those that the other run began with, and
    count for the steps that are done anew.
    """
    from ..store.runs import find_run

    check_output(as_json=as_json, as_events=stream)
    names = [as_step_id(name) for name in again or ()]
    changes = {**overrides, **({"stream_text": True} if stream else {})}
    edited = None if plan is None else _read(find_run(run_name), plan, changes)
    prepared = _prepared(run_name, edited, names, changes, turn)
    orchestrated = bool(turn) or is_orchestrated(prepared.plan)
    has_agents = asks_agents(prepared.plan)
    asyncio.run(check_models(prepared.options, orchestrated=orchestrated, has_agents=has_agents))
    say(_what_it_takes(prepared))
    return run_and_report(
        prepared.plan.objective,
        lambda: _begin(prepared),
        as_json=as_json,
        as_events=stream,
        verbose=verbose,
    )


def _begin(prepared: PreparedFork) -> Callable[[], Awaitable[SwarmResult]]:
    return prepared.begin


def _prepared(
    run_name: str, plan: TaskIR | None, again: list[str], changes: Mapping[str, Any], turn: int
) -> PreparedFork:
    from ..flows.resume import prepare_fork

    return prepare_fork(run_name, plan, again, changes, turn)


def _read(run: RunStore, path: Path, changes: Mapping[str, Any]) -> TaskIR:
    from ..flows.fork import plan_done
    from ..flows.options import with_changes
    from ..flows.plan_changes import options_of
    from ..flows.planning import plan_rules

    rules = plan_rules(with_changes(options_of(run), changes))
    return read_edit(run, path, plan_done(run), rules)


def _what_it_takes(prepared: PreparedFork) -> str:
    steps, taken = len(prepared.plan.steps), len(prepared.taken)
    rest = [step for step in prepared.plan.steps if step.id not in prepared.taken]
    # Which of these are as they were is known once their items are.
    has_members = any(step.for_each or step.repeat or step.plan for step in rest)
    members = "Of what was done for items, in rounds or inside steps, what is as it was is, too."
    if not taken and not has_members:
        return f"Nothing of run {prepared.source.run} is taken over: all is done anew."
    count = f"{taken} of {plural(steps, 'step')} taken over, {steps - taken} left to do."
    return f"{count} {members}" if has_members else count
