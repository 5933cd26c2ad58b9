"""`prefect-swarm run`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, cast

import typer

from ..flows.options import SwarmOptions
from ..result import SwarmResult
from ..runs import RunFolder
from ..task_ir import is_orchestrated
from ..text import plural
from ..toolsets.artifacts import artifacts_read
from .command import AsEvents, AsJson
from .models import check_models
from .output.files import artifact_files, check_folder, left_files, write_folder
from .progress.session import check_output, run_and_report, say
from .source import Files, ItemsFile, Join, Objective, PlanFile, RunSource, Template, read_source

__all__ = ["run"]


def run(
    objective: Objective = None,
    plan: PlanFile = None,
    items: ItemsFile = None,
    template: Template = None,
    join: Join = None,
    file: Files = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", metavar="DIR", help="Write the answer and each artifact into this folder."
        ),
    ] = None,
    options: SwarmOptions = SwarmOptions(),  # noqa: B008 - frozen, and replaced by the options given
    as_json: AsJson = False,
    stream: AsEvents = False,
) -> int:
    """Plan an objective and run it; or run a plan, or a template over many items.

    With `--stream` providers are asked to stream.
    """
    check_output(as_json=as_json, as_events=stream)
    if output is not None:
        check_folder(output)
    if stream:
        options = options.model_copy(update={"stream_text": True})
    source = read_source(objective, plan, items, template, join, options.max_steps, file)
    orchestrated = is_orchestrated(source.plan)
    asyncio.run(check_models(options, orchestrated=orchestrated))
    is_typed = options.answer_schema is not None
    return run_and_report(
        source.objective,
        lambda: _begin(source, options),
        as_json=as_json,
        as_events=stream,
        after=None if output is None else lambda result: _write(output, result, is_typed),
    )


def _begin(source: RunSource, options: SwarmOptions) -> Callable[[], Awaitable[SwarmResult]]:
    from ..flows.run_inputs import inputs_given
    from ..flows.swarm import swarm

    run_swarm = cast("Callable[..., Awaitable[SwarmResult]]", swarm)

    async def begin() -> SwarmResult:
        with inputs_given(source.inputs):
            return await run_swarm(source.objective, plan=source.plan, options=options)

    return begin


def _write(folder: Path, result: SwarmResult, is_typed: bool) -> None:
    run = RunFolder.of(result.flow_run_id)
    stored = ((step.id, run.read(f"outputs/{step.id}.txt")) for step in result.steps)
    outputs = {name: text for name, text in stored if text is not None}
    left = {
        step.id: artifacts_read(run, step) for step in result.steps if step.status == "succeeded"
    }
    files = artifact_files(result, outputs, is_json=is_typed) | left_files(result.steps, left)
    write_folder(folder, files, result.run_id)
    say(f"Wrote {plural(len(files), 'file')} into {folder}.")
