"""`prefect-swarm inspect`: a run as its files tell it, without a Prefect server."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from ..errors import InputError
from ..events.log import EVENTS
from ..events.reading import follow_events
from ..result import Attempt, StepResult, SwarmResult
from ..tasks.report.attempts import (
    change_line,
    decision_line,
    gate_line,
    left_out_line,
    outcome_line,
)
from ..tasks.report.calls import call_lines
from ..tasks.report.taken import taken_words
from ..text import duration, one_line
from ..toolsets.artifacts import artifacts_of
from .command import AsJson
from .output.asked import print_questions
from .output.events import print_events
from .output.left import print_files
from .output.printing import print_json, print_section, print_text
from .output.summary import print_summary
from .output.time_spent import print_time
from .output.unfinished import print_unfinished, print_unfinished_json
from .resume import RunName
from .runs.listing import is_executed

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from ..events.kinds import RunEvent
    from ..runs import RunFolder

__all__ = ["inspect"]

_LOOK_S = 0.2
"""Seconds between two looks for events of a run that goes on."""


def inspect(
    run_name: RunName,
    step: Annotated[
        str | None, typer.Option("--step", help="A step's whole output and its attempts.")
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
        bool, typer.Option("--time", help="Where its time went, and what each figure means.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Show a stored run: its result, or how far it came, or a step, its events or its time."""
    from ..runs import find_run

    if start is not None and not events:
        raise InputError("--from counts events.", "Add --events.")
    asked = {"--events": events, "--step": step is not None, "--time": time}
    if len(chosen := [name for name, is_asked in asked.items() if is_asked]) > 1:
        raise InputError(f"{' and '.join(chosen)} exclude each other.", "Choose what is shown.")
    run = find_run(run_name)
    if events:
        _show_events(run, start or 1, as_json=as_json)
        return 0
    result = run.result()
    if time:
        _show_time(run, result, as_json=as_json)
    elif step is not None:
        _show_step(run, result, step.upper(), as_json=as_json)
    elif result is None and as_json:
        print_unfinished_json(run, _compiled(run))
    elif result is None:
        print_unfinished(run, _compiled(run))
        print_questions(run)
    elif as_json:
        print_json(result)
    else:
        print_section(one_line(result.plan.objective, 200))
        print_summary(result)
        print_questions(run)
        print_files(run, result.steps)
    return 0


def _show_events(run: RunFolder, start: int, *, as_json: bool) -> None:
    def follow() -> AsyncGenerator[RunEvent]:
        return follow_events(
            run.folder / EVENTS,
            start=start,
            is_alive=lambda: is_executed(run.folder),
            wait=lambda: asyncio.sleep(_LOOK_S),
        )

    print_events(follow, began_at=run.about().get("started_at"), as_json=as_json)


def _show_time(run: RunFolder, result: SwarmResult | None, *, as_json: bool) -> None:
    if result is None:
        raise InputError(
            f"Run {run.run_id} has no result yet.", "Where its time went is known at its end."
        )
    print_time(result, as_json=as_json)


def _compiled(run: RunFolder) -> dict[str, Any]:
    return run.read_json("plan.json")


def _show_step(run: RunFolder, result: SwarmResult | None, name: str, *, as_json: bool) -> None:
    planned = _prompt(run, name)
    steps = result.steps if result else run.steps()
    step = next((step for step in steps if step.id == name), None)
    prompt = (step.prompt if step else "") or planned
    output = run.read(f"outputs/{name}.txt")
    if as_json:
        record = step.model_dump(mode="json") if step else {"id": name, "status": "unfinished"}
        files = {name: str(path) for name, path in artifacts_of(run, step).items()} if step else {}
        print_json({**record, "prompt": prompt, "output": output, "files": files})
        return
    print_section(f"{name} {step.agent}: {step.status}" if step else name)
    print_text(prompt)
    if step:
        _print_attempts(step)
    print_questions(run, name)
    if output is not None:
        print_section("Output")
        print_text(output)
    elif result is None:
        print_text("It has not finished.")
    if step:
        print_files(run, [step])


def _prompt(run: RunFolder, name: str) -> str:
    steps = cast("list[dict[str, Any]]", _compiled(run).get("steps", []))
    prompts = {step["id"]: str(step["prompt"]) for step in steps}
    if name not in prompts:
        known = f"{next(iter(prompts))} to {list(prompts)[-1]}" if prompts else "no steps yet"
        raise InputError(f"Run {run.run_id} has no step {name!r}.", f"There are {known}.")
    return prompts[name]


def _print_attempts(step: StepResult) -> None:
    if step.change:
        print_text(f"Changed: {change_line(step.change, step.planned)}")
    if step.reason:
        print_text(f"Reason: {step.reason}")
    if step.taken_from is not None:
        look = f"prefect-swarm inspect {step.taken_from.run} --step {step.id}"
        print_text(f"It was {taken_words(step)}, which has its attempts: {look}")
    for attempt in step.attempts:
        agent = f" · {attempt.agent}" if attempt.agent else ""
        print_section(f"Attempt {attempt.number}{agent}")
        for line in _attempt_lines(attempt):
            print_text(line)


def _attempt_lines(attempt: Attempt) -> list[str]:
    usage = attempt.usage
    lines = [
        f"{attempt.model} on tier {attempt.tier}: {duration(attempt.duration_s)}, after "
        f"{duration(attempt.queue_s)} of waiting; {usage.input_tokens:,} tokens read, "
        f"{usage.output_tokens:,} written",
    ]
    if attempt.samples > 1:
        lines.append(f"best of {attempt.samples} samples")
    if left_out := left_out_line(attempt):
        lines.append(f"not read in full: {left_out}")
    if attempt.tokens_saved:
        lines.append(f"stopped early: {attempt.tokens_saved:,} tokens saved")
    if attempt.extraction and attempt.gates:
        lines.append(f"artifact: {attempt.extraction}")
    lines += call_lines(attempt.calls)
    lines += gate_line(attempt)
    if attempt.category is not None:
        lines.append(f"failed: {attempt.category}: {one_line(attempt.error or '', 300)}")
    if (decision := attempt.decision) is not None:
        lines.append(f"decision: {decision_line(attempt)} by {decision.rule}: {decision.reason}")
        if came := outcome_line(decision):
            lines.append(f"it took {came}")
    return lines
