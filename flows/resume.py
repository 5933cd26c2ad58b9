"""Go on with a run that a crash, a failure or a cancellation ended early."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import cast
from uuid import UUID

import httpx
from prefect.client.orchestration import PrefectClient, get_client
from prefect.client.schemas.objects import FlowRun
from prefect.exceptions import CancelledRun, ObjectNotFound
from prefect.flow_engine import run_flow_async
from prefect.states import Pending

from ..errors import RunCancelledError, RunNotFoundError, ServerError
from ..result import SwarmResult
from ..runs import RunFolder, find_run
from ..task_ir import stored_plan
from .lock import exclusive
from .options import SwarmOptions
from .swarm import swarm
from .temporary_server.ensured import ensure_server

__all__ = ["resume"]


async def resume(name: str, *, retry_failed: bool = False) -> SwarmResult:
    """Run what is left of a run, as the flow run it was; what had finished is not done again.

    A run that is completed, wholly or partially, only has its result read.

    Args:
        name: The run's id, or its flow run's.
        retry_failed: Try the failed steps of a partial run again, and what depends on them.

    Raises:
        RunNotFoundError: No such run is stored, or the server has no such flow run.
        RunAliveError: A process is executing the run now.
        RunCancelledError: It was cancelled once more.
        RunFailedError: It ended, and no step had succeeded.
        ServerError: The Prefect server can't be reached.
    """
    run = find_run(name)
    with exclusive(run):
        async with _server() as client:
            flow_run = await _read(client, run)
            completed = flow_run.state is not None and flow_run.state.is_completed()
            if (result := run.result()) is not None:
                if completed and not (retry_failed and result.status == "partial"):
                    return result
                run.begin_again(result)
            flow_run = await _reopen(client, flow_run)
        return await _go_on(run, flow_run)


@asynccontextmanager
async def _server() -> AsyncGenerator[PrefectClient]:
    ensure_server()
    client = get_client()
    try:
        async with client:
            yield client
    except (httpx.HTTPError, RuntimeError) as error:
        # Prefect's client raises a RuntimeError when it can't connect at all.
        raise ServerError(
            f"The Prefect server at {client.api_url} can't be reached: {error}.",
            "Start it, or set PREFECT_API_URL to the one that the run was started on.",
        ) from error


async def _read(client: PrefectClient, run: RunFolder) -> FlowRun:
    flow_run_id = UUID(run.about()["flow_run_id"])
    try:
        return await client.read_flow_run(flow_run_id)
    except ObjectNotFound:
        raise RunNotFoundError(
            f"The Prefect server at {client.api_url} has no flow run {flow_run_id}, "
            f"which run {run.run_id} was.",
            "Set PREFECT_API_URL to the server that the run was started on.",
        ) from None


async def _reopen(client: PrefectClient, flow_run: FlowRun) -> FlowRun:
    # Not a scheduled state, as AwaitingRetry would be: a worker would take it for work of its own.
    state = Pending(message="Resumed; what had finished comes from the cache.")
    await client.set_flow_run_state(flow_run.id, state, force=True)
    return await client.read_flow_run(flow_run.id)


async def _go_on(run: RunFolder, flow_run: FlowRun) -> SwarmResult:
    given = flow_run.parameters
    parameters = {
        **given,
        "plan": stored_plan(given.get("plan")),
        "options": _stored_options(given.get("options")),
    }
    try:
        result = await run_flow_async(swarm, flow_run=flow_run, parameters=parameters)
    except CancelledRun:
        raise RunCancelledError(
            f"Run {run.run_id} was cancelled.", f"Resume it with: resume {run.run_id}."
        ) from None
    return SwarmResult.model_validate(result)


def _stored_options(data: object) -> object:
    """Return the options of an earlier version's run without the fields that are gone."""
    if not isinstance(data, dict):
        return data or {}
    fields = cast("dict[str, object]", data)
    return {name: value for name, value in fields.items() if name in SwarmOptions.model_fields}
