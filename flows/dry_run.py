"""A run of a plan in which nothing is done to other systems: acting calls are written down."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from uuid import uuid4

from ..inputs.reading import Inputs
from ..plan.dry_run import dry_plan, plain_id
from ..plan.procedure_steps import toolsets_in
from ..plan.task_ir import TaskIR
from ..store.result import SwarmResult
from ..store.runs import open_run
from ..toolsets.catalogue import Catalogue, ToolsetUse, acting_names, listed_tools
from ..toolsets.recording import RecordedCall, Recorder, RecordingSource
from .control import called_with
from .options import SwarmOptions
from .preflight import LISTING_S, toolsets_of_run
from .python import swarm

__all__ = ["DryRun", "RecordedStep", "dry_run"]


@dataclass(frozen=True, slots=True)
class RecordedStep:
    """A call that wasn't made, and what would undo it; "" for nothing."""

    call: RecordedCall
    undo: str


@dataclass(frozen=True, slots=True)
class DryRun:
    """What became of a run whose acting calls were written down, in their order."""

    result: SwarmResult
    calls: tuple[RecordedStep, ...]


async def dry_run(plan: TaskIR, options: SwarmOptions, inputs: Inputs | None = None) -> DryRun:
    """Run a plan with tools that act only writing down their calls.

    Models are asked as ever, and tools that only read are called. The memory learns nothing of it,
    and nobody is asked: nothing is done that one would have to approve.

    Raises:
        SwarmError: As `swarm` has it.
    """
    options = options.model_copy(update={"memory": False, "approve": ()})
    async with toolsets_of_run(options) as catalogue:
        names = [*toolsets_in(plan.agents, plan.steps)]
        listed = await asyncio.gather(*(_acting(catalogue, name) for name in names))
        # It counts for no version of a procedure.
        named = {"objective": f"Dry run: {plan.objective}", "procedure": ""}
        dry = dry_plan(plan.model_copy(update=named), dict(zip(names, listed, strict=True)))
        recorder = Recorder(dry)
        with called_with(toolsets=_recording(catalogue, names, recorder)):
            result = await swarm(dry.plan.objective, plan=dry.plan, inputs=inputs, options=options)
    calls = (RecordedStep(each, dry.undo.get(plain_id(each.step), "")) for each in recorder.calls)
    return DryRun(result, tuple(calls))


async def _acting(catalogue: Catalogue, name: str) -> tuple[str, ...]:
    use = ToolsetUse(open_run(str(uuid4())), "", "dry run")
    return acting_names(await listed_tools(catalogue.source(name), use, LISTING_S))


def _recording(
    catalogue: Catalogue, names: Iterable[str], recorder: Recorder
) -> dict[str, RecordingSource]:
    sources = (catalogue.source(name) for name in names)
    return {source.name: RecordingSource(source, recorder) for source in sources}
