"""Running a line of a batch: resume the run that it began, or begin one."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar
from uuid import uuid4

import httpx
from prefect import Task
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import FlowRun
from prefect.context import TagsContext
from prefect.exceptions import PrefectHTTPStatusError
from prefect.flow_engine import run_flow_async
from prefect.states import Pending

from ...errors import RunDamagedError, RunLostError, RunNotFoundError, ServerError
from ...result import SwarmResult
from ...runs import RunFolder, find_run
from ...text import one_line
from ...tracing.prefect_spans import without_prefect_spans
from ..batch_line import BatchJob
from ..options import SwarmOptions, stored_options
from ..resume import resume
from ..schema_flow import refused_in_short
from ..server_state.flow_run import current_flow_run
from ..stored.changes import CHANGEABLE
from ..swarm import swarm
from ..temporary_server.ensured import ensure_server

__all__ = ["PAUSES_S", "is_passing", "patiently", "run_job"]


T = TypeVar("T")

PAUSES_S = (5.0, 10.0, 20.0, 40.0, 60.0)
"""Seconds before each repetition; Prefect's client has repeated each request for a minute then."""
_BUSY = frozenset({408, 425, 429, 500, 502, 503, 504})

_logger = logging.getLogger("prefect_swarm.runs")


def is_passing(error: BaseException) -> bool:
    """Say whether the server may take it later: it is away or busy, or its database is locked."""
    if isinstance(error, ServerError) and isinstance(error.__cause__, PrefectHTTPStatusError):
        # What it refuses for want of a login it refuses the next time, too.
        error = error.__cause__
    if isinstance(error, PrefectHTTPStatusError):
        return error.response.status_code in _BUSY
    # Prefect's client raises a RuntimeError when it can't connect at all.
    is_away = isinstance(error, RuntimeError) and "reach API" in str(error)
    return is_away or isinstance(error, httpx.TransportError | ServerError)


async def patiently(
    work: Callable[[], Awaitable[T]],
    may_repeat: Callable[[], bool] = lambda: True,
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> T:
    """Do some work, once more after a pause where the server didn't take it.

    Args:
        work: What is to be done.
        may_repeat: Whether nothing of it has been done yet.
        pause: Passes some seconds.
    """
    for seconds in PAUSES_S:
        try:
            return await work()
        except Exception as error:
            if not is_passing(error) or not may_repeat():
                raise
            why = one_line(str(error) or repr(error), 200)
            _logger.warning("The Prefect server doesn't answer; again in %.0f s. %s", seconds, why)
        await pause(seconds)
    return await work()


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
