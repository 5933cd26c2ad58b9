"""`prefect-swarm fork`: a new run that takes over what another one has finished."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...result import SwarmResult
from ...task_ir import TaskIR, is_orchestrated
from ...text import plural
from ..approval.editing import read_edited
from ..command import AsEvents, AsJson
from ..models import check_models
from ..options import OptionChanges
from ..progress.session import check_output, run_and_report, say
from ..resume import RunName

if TYPE_CHECKING:
    from ...flows.forking.python import PreparedFork
    from ...runs import RunFolder

__all__ = ["fork"]

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
        help="A step that is done anew, with all that depend on it; repeatable.",
    ),
]


def fork(
    run_name: RunName,
    plan: EditedPlan = None,
    again: FromStep = None,
    overrides: OptionChanges = OptionChanges(),  # noqa: B008 - replaced by the options given
    as_json: AsJson = False,
    stream: AsEvents = False,
) -> int:
    """Begin a new run that takes over what another one has finished.

    A finished step is taken over if the plan asks it for the same and it reads the same; it isn't
    asked again. Options that are given take the place of those that the other run began with, and
    count for the steps that are done anew.
    """
    from ...runs import find_run

    check_output(as_json=as_json, as_events=stream)
    names = [name.strip().upper() for name in again or ()]
    changes = {**overrides, **({"stream_text": True} if stream else {})}
    edited = None if plan is None else _read(find_run(run_name), plan, changes)
    prepared = _prepared(run_name, edited, names, changes)
    orchestrated = is_orchestrated(prepared.plan)
    asyncio.run(check_models(prepared.options, orchestrated=orchestrated))
    say(_what_it_takes(prepared))
    return run_and_report(
        prepared.plan.objective,
        lambda: _begin(prepared),
        as_json=as_json,
        as_events=stream,
    )


def _begin(prepared: PreparedFork) -> Callable[[], Awaitable[SwarmResult]]:
    return prepared.begin


def _prepared(
    run_name: str, plan: TaskIR | None, again: list[str], changes: Mapping[str, Any]
) -> PreparedFork:
    from ...flows.forking.python import prepare_fork

    return prepare_fork(run_name, plan, again, changes)


def _read(run: RunFolder, path: Path, changes: Mapping[str, Any]) -> TaskIR:
    from ...flows.edited.current import options_of
    from ...flows.forking.source import plan_done
    from ...flows.planning import plan_rules
    from ...flows.stored.changes import with_changes

    rules = plan_rules(with_changes(options_of(run), changes))
    return read_edited(run, path, plan_done(run), rules)


def _what_it_takes(prepared: PreparedFork) -> str:
    steps, taken = len(prepared.plan.steps), len(prepared.taken)
    if not taken:
        return f"Nothing of run {prepared.source.run} is taken over: all is done anew."
    left = steps - taken
    rest = f"{plural(left, 'step')} {'is' if left == 1 else 'are'} done" if left else "none is left"
    return f"{taken} of {plural(steps, 'step')} are taken over; {rest}."
