"""`prefect-swarm inspect`: a run from its files, without a Prefect server."""

from __future__ import annotations

import asyncio
import sys
import webbrowser
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ..errors import InputError
from ..plan.ids import steps_above
from ..report.members import span_words
from ..report.page import Page, RunView
from ..report.run_pages import answer_page, plan_page, timeline_page
from ..report.step_page import step_page
from ..report.stored_view import SHOWN_CHARS, ShownStep, planned_members, planned_of, view_of
from ..store.event_log import follow_events
from ..store.result import SwarmResult
from ..store.step import StepState
from .command import AsJson, Verbose, as_step_id
from .run import RunName
from .terminal.files import write_html
from .terminal.printing import print_events, print_json, print_page, print_text
from .terminal.summary import (
    print_files,
    print_questions,
    print_run,
    print_time,
    print_unfinished_json,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from ..store.events import RunEvent
    from ..store.protocol import RunStore

__all__ = ["inspect", "report", "show_run"]


ShownPage = Literal["answer", "plan", "timeline"]
_PAGES: Mapping[ShownPage, Callable[[RunView], Page]] = {
    "answer": answer_page,
    "plan": plan_page,
    "timeline": timeline_page,
}
_LOOK_S = 0.2
"""Seconds between two looks for events of a run that goes on."""


def inspect(
    run_name: RunName,
    step: Annotated[
        str | None,
        typer.Option(
            "--step",
            help="A step's whole output and its attempts; `S2[7]` is its seventh instance, "
            "`S2r2` its second round, `S2.S1` a step of the plan inside it.",
        ),
    ] = None,
    page: Annotated[
        ShownPage | None, typer.Option("--page", help="A page of the run, as the Prefect UI has.")
    ] = None,
    events: Annotated[
        bool,
        typer.Option("--events", help="Its events, one a line; as long as it goes on, live."),
    ] = False,
    start: Annotated[
        int | None,
        typer.Option("--from", metavar="N", min=1, help="Begin with the event of that number."),
    ] = None,
    time: Annotated[
        bool, typer.Option("--time", help="Where its time went, and the meaning of each figure.")
    ] = False,
    verbose: Verbose = False,
    as_json: AsJson = False,
) -> int:
    """Show a stored run: its result or progress, a step, its events or its time."""
    from ..store.runs import find_run

    if start is not None and not events:
        raise InputError("--from counts events.", "Add --events.")
    asked = {"--events": events, "--step": step, "--time": time, "--page": page}
    _check_choice([name for name, value in asked.items() if value not in (None, False)], as_json)
    run = find_run(run_name)
    if events:
        _show_events(run, start or 1, as_json=as_json)
        return 0
    if time:
        _show_time(run, run.result(), as_json=as_json)
    elif step is not None and not as_json:
        _show_step(run, as_step_id(step))
    elif page is not None:
        _show_page(run, page)
    elif not as_json:
        show_run(run, verbose=verbose)
    elif step is not None:
        _print_step_json(run, run.result(), as_step_id(step))
    elif (result := run.result()) is not None:
        print_json(result)
    else:
        print_unfinished_json(run)
    return 0


def show_run(run: RunStore, *, verbose: bool = False) -> None:
    """Print how a run ended, or how far it is, with what it asked and the files that it left.

    Args:
        run: The run.
        verbose: Also say what the memory did.
    """
    # Whose outputs are there is finished, whatever else of it is.
    whole = frozenset(step.id for step in planned_of(run).steps)
    view = view_of(run, is_running=run.is_executed(), whole=whole)
    print_run(view, run.result(), verbose=verbose)
    print_questions(run)
    print_files(run, [step.state for step in view.steps])


def _show_page(run: RunStore, name: ShownPage) -> None:
    view = view_of(run, is_running=run.is_executed(), whole=())
    print_page(_PAGES[name](view), view)


def _check_choice(chosen: list[str], as_json: bool) -> None:
    if len(chosen) > 1:
        raise InputError(f"{' and '.join(chosen)} exclude each other.", "Choose one.")
    if chosen == ["--page"] and as_json:
        raise InputError("--page excludes --json.", "Choose one.")


def _show_events(run: RunStore, start: int, *, as_json: bool) -> None:
    def follow() -> AsyncGenerator[RunEvent]:
        return follow_events(
            run.event_feed(start),
            is_alive=run.is_executed,
            wait=lambda: asyncio.sleep(_LOOK_S),
        )

    print_events(follow, began_at=run.about().started_at, as_json=as_json)


def _show_time(run: RunStore, result: SwarmResult | None, *, as_json: bool) -> None:
    if result is None:
        raise InputError(
            f"Run {run.run_id} has no result yet.", "Where its time went is known at its end."
        )
    print_time(result, as_json=as_json)


def _show_step(run: RunStore, name: str) -> None:
    view = view_of(run, is_running=run.is_executed(), whole=(name,))
    step = next((step for step in view.steps if step.id == name), None)
    if step is None:
        raise _no_step(run, name, {step.id: step.parent for step in view.steps})
    # Its files are listed with their sizes and where they lie.
    shown = replace(step, files=())
    print_page(step_page(view, shown, most_output=SHOWN_CHARS), view)
    print_questions(run, name)
    print_files(run, [step.state])


def _no_step(run: RunStore, name: str, parents: Mapping[str, str]) -> InputError:
    """Say which steps there are: the members of what the id is within, as far as that is there."""
    within = next((above for above in steps_above(name) if above in parents), "")
    names = [step for step, parent in parents.items() if parent == within]
    if not names:
        known = f"{within} has no members" if within else "There are no steps yet"
    else:
        known = f"{f'{within} has' if within else 'There are'} {span_words(names)}"
    return InputError(f"Run {run.run_id} has no step {name!r}.", f"{known}.")


def _print_step_json(run: RunStore, result: SwarmResult | None, name: str) -> None:
    """Print a step as it is stored, with its whole output."""
    planned = planned_members(run)
    steps = result.steps if result else run.steps()
    prompts = {step.id: step.prompt for step in (*planned.values(), *steps)}
    if name not in prompts:
        raise _no_step(run, name, {step.id: step.parent for step in (*planned.values(), *steps)})
    step = next((step for step in steps if step.id == name), None)
    record = step.model_dump(mode="json") if step else {"id": name, "status": "unfinished"}
    files = {name: file.place for name, file in run.artifacts(step).items()} if step else {}
    prompt = (step.prompt if step else "") or prompts[name]
    output = run.output(name)
    found = {**record, "prompt": prompt, "output": output, "files": files}
    known = {step.id: step for step in steps}
    members = [
        _member_record(known.get(each.id) or each)
        for each in {**known, **planned}.values()
        if each.parent == name
    ]
    print_json({**found, "members": members} if members else found)


def _member_record(step: StepState | ShownStep) -> dict[str, Any]:
    """Return what a step's own record says of a member; the member's says the rest."""
    if not isinstance(step, StepState):
        return {"id": step.id, "label": step.label, "status": "unfinished"}
    return {
        "id": step.id,
        "label": step.label,
        "status": step.status,
        "reason": step.reason,
        "attempts": len(step.attempts),
        "tokens": step.tokens,
        "seconds": round(step.work_s, 3),
    }


_STDOUT = Path("-")


def report(
    run_name: RunName,
    html: Annotated[
        Path | None,
        typer.Option(
            "--html",
            metavar="FILE",
            help="Where it is written; `-` is standard output.",
            show_default="report-RUN.html",
        ),
    ] = None,
    show: Annotated[bool, typer.Option("--open", help="Open it in the browser.")] = False,
) -> int:
    """Write a stored run as one HTML file: the answer, graph, timeline, costs and each step.

    The file needs no network and holds no secrets, so that it can be sent to somebody. A run that
    has not ended is shown as far as it is.
    """
    from ..report.run_html import folder_html
    from ..store.runs import find_run

    if show and html == _STDOUT:
        raise InputError("--open needs a file.", "Give --html another name than `-`.")
    run = find_run(run_name)
    document = folder_html(run, is_running=run.is_executed())
    if html == _STDOUT:
        sys.stdout.write(document)
        return 0
    path = html or Path(f"report-{run.run_id}.html")
    write_html(path, document)
    print_text(f"Written to {path.resolve()}")
    if show and not webbrowser.open(path.resolve().as_uri()):
        print_text("No browser could be opened: open the file yourself.")
    return 0
