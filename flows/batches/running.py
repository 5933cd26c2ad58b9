"""Run a line of a batch: go on with the run that it began, or begin one."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any
from uuid import uuid4

from prefect import Task
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import FlowRun
from prefect.context import TagsContext
from prefect.flow_engine import run_flow_async
from prefect.states import Pending

from ...errors import RunDamagedError, RunLostError, RunNotFoundError
from ...result import SwarmResult
from ...runs import RunFolder, find_run
from ...tracing.prefect_spans import without_prefect_spans
from ..batch_line import BatchJob
from ..options import SwarmOptions, stored_options
from ..resume import resume
from ..schema_flow import refused_in_short
from ..server_state.current import current_flow_run
from ..stored.changes import CHANGEABLE
from ..swarm import swarm
from ..temporary_server.ensured import ensure_server
from .patience import patiently

__all__ = ["run_job"]

_logger = logging.getLogger("prefect_swarm.runs")


async def run_job(job: BatchJob, before: str, begin: Callable[[str], None]) -> SwarmResult:
    """Run a line.

    Args:
        job: What it asks for.
        before: The run that it began at an earlier start; "" if it began none.
        begin: Notes the run that it begins, before anything is paid for.
    """
    if (run := _begun(before)) is not None:
        changes = _changes(run, job.options)
        go_on = partial(resume, run.run_id, retry_failed=True, changes=changes)
        try:
            return await patiently(go_on)
        except (RunDamagedError, RunLostError, RunNotFoundError) as error:
            _logger.warning("The line is run anew: %s", error)
    parameters: dict[str, Any] = {
        "objective": job.objective,
        "plan": job.plan,
        "inputs": job.inputs or None,
        "options": job.options,
        "fork": None,
    }
    flow_run = await patiently(partial(_created, parameters))
    begin(str(flow_run.id))
    own = RunFolder.of(str(flow_run.id))
    run_it = partial(_run, flow_run, parameters)
    return await patiently(run_it, lambda: not own.has_begun())


def _begun(name: str) -> RunFolder | None:
    """Return the folder of a run that has anything to go on with."""
    with suppress(RunDamagedError, RunNotFoundError):
        if name and (run := find_run(name)).about():
            return run
    return None


def _changes(run: RunFolder, options: SwarmOptions) -> dict[str, Any]:
    """Return the bounds and models that a line has now, and that its run began without."""
    with suppress(RunDamagedError, ValueError):
        before = stored_options(run.read_json("run.json").get("options"))
        asked = options.model_dump(mode="json")
        had = before.model_dump(mode="json")
        return {name: asked[name] for name in CHANGEABLE if asked[name] != had[name]}
    return {}


async def _created(parameters: dict[str, Any]) -> FlowRun:
    """Create a line's flow run; in a batch's flow run it is one of that.

    Prefect would count the lines, and take the run of another line for this one's when the batch
    is run again.
    """
    ensure_server()
    batch = current_flow_run()
    async with get_client() as client:
        parent = None
        if batch is not None:
            task: Task[Any, Any] = Task(fn=swarm.fn, name=swarm.name)
            key = uuid4().hex
            parent = await client.create_task_run(
                task, batch.id, key, name=f"{swarm.name}-{key[:8]}", state=Pending()
            )
        create = client.create_flow_run(
            swarm,
            parameters=swarm.serialize_parameters(parameters),
            parent_task_run_id=parent.id if parent else None,
            state=Pending(),
            tags=TagsContext.get().current_tags,
        )
        return await refused_in_short(create)


async def _run(flow_run: FlowRun, parameters: dict[str, Any]) -> SwarmResult:
    with without_prefect_spans():
        going = run_flow_async(swarm, flow_run=flow_run, parameters=parameters)
        result = await refused_in_short(going)
    return SwarmResult.model_validate(result)
