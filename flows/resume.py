"""Go on with a run that a crash, a failure, a bound or a cancellation ended early."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any
from uuid import UUID

import httpx
from prefect.client.orchestration import PrefectClient, get_client
from prefect.client.schemas.objects import FlowRun
from prefect.exceptions import (
    CancelledRun,
    ObjectNotFound,
    Pause,
    PausedRun,
    PrefectHTTPStatusError,
)
from prefect.flow_engine import run_flow_async
from prefect.states import Pending

from ..errors import (
    InputError,
    RunCancelledError,
    RunDamagedError,
    RunNotFoundError,
    ServerError,
)
from ..result import SwarmResult
from ..runs import RunFolder, find_run, is_whole_id
from ..task_ir import stored_plan
from ..tracing.prefect_spans import without_prefect_spans
from .approving.asking import left_waiting
from .control import not_waiting
from .lock import exclusive
from .lost import check_not_lost, noted_place
from .options import SwarmOptions, stored_options
from .schema_flow import refused_in_short
from .stored.changes import changed_options, goes_on, steps_to_begin_again
from .swarm import swarm
from .temporary_server.ensured import ensure_server
from .temporary_server.reaching import refusal_of, shown_address

__all__ = ["resume"]

_logger = logging.getLogger("prefect_swarm.runs")


async def resume(
    name: str, *, retry_failed: bool = False, changes: Mapping[str, Any] | None = None
) -> SwarmResult:
    """Run what is left of a run, as the flow run it was; what had finished is not done again.

    A run that is completed only has its result read. So has one that is partial, unless the failed
    steps are to be tried again, or a bound that stopped one is changed.

    Args:
        name: The run's id, or its flow run's.
        retry_failed: Try the failed steps of a partial run again, and what depends on them.
        changes: Other values for the run's models and bounds, by the option's name; from then on
            they are the run's own. What was spent before counts.

    Raises:
        InputError: A change has no effect, or isn't possible.
        RunNotFoundError: No such run is stored, or the server has no such flow run.
        RunLostError: Its folder is elsewhere; `start_over` among the changes begins from nothing.
        RunAliveError: A process is executing the run now.
        RunCancelledError: It was cancelled once more.
        RunFailedError: It ended, and no step had succeeded.
        RunWaitingError: It waits for a person, who hasn't answered.
        ServerError: The Prefect server can't be reached.
    """
    run, changes = await _found(name), changes or {}
    with exclusive(run):
        run.store_kept()
        async with _server() as client:
            flow_run = await _read(client, run, name)
            if not changes.get("start_over"):
                await check_not_lost(run, flow_run)
            stored = stored_options(flow_run.parameters.get("options"))
            options = changed_options(stored, changes)
            if (result := _result(run)) is not None:
                if not goes_on(result, retry_failed=retry_failed, changes=changes):
                    return result
                again = steps_to_begin_again(result, retry_failed=retry_failed, changes=changes)
                run.begin_again(result, again)
            before = flow_run.parameters
            if changes:
                # Once is not always: a worker that lacks the folder later has to say it.
                once = {"start_over": stored.start_over} if options.start_over else {}
                flow_run = await _change(client, flow_run, options.model_copy(update=once))
            flow_run = await _reopen(client, flow_run)
        try:
            return await _go_on(run, flow_run, start_over=options.start_over)
        except InputError:
            # What can't be held isn't the run's from now on.
            async with _server() as client:
                await client.update_flow_run(flow_run.id, parameters=before)
            raise


async def _found(name: str) -> RunFolder:
    """Return the folder of a run, which need not be there where the server knows the flow run.

    Raises:
        RunNotFoundError: No such run is stored, and the server has no such run of a swarm either.
    """
    try:
        return find_run(name)
    except RunNotFoundError:
        if not is_whole_id(name):
            raise
        run = RunFolder.of(str(UUID(name.strip())))
        if run.folder.exists():
            raise
        async with _server() as client:
            with suppress(ObjectNotFound):
                if noted_place(await client.read_flow_run(UUID(name.strip()))) is not None:
                    return run
        raise


@asynccontextmanager
async def _server() -> AsyncGenerator[PrefectClient]:
    ensure_server()
    client = get_client()
    try:
        async with client:
            yield client
    except (httpx.HTTPError, RuntimeError) as error:
        if isinstance(error, PrefectHTTPStatusError) and (refusal := refusal_of(error)) is not None:
            raise refusal from error
        # Prefect's client raises a RuntimeError when it can't connect at all.
        raise ServerError(
            f"The Prefect server at {_shown(client)} can't be reached: {error}.",
            "Start it, or set PREFECT_API_URL to the one that the run was started on.",
        ) from error


def _shown(client: PrefectClient) -> str:
    return shown_address(str(client.api_url))


async def _read(client: PrefectClient, run: RunFolder, name: str) -> FlowRun:
    # A run whose own files don't say it any more is found by its flow run's whole id.
    flow_run_id = UUID(run.about().get("flow_run_id") or name.strip())
    try:
        return await client.read_flow_run(flow_run_id)
    except ObjectNotFound:
        raise RunNotFoundError(
            f"The Prefect server at {_shown(client)} has no flow run {flow_run_id}, "
            f"which run {run.run_id} was.",
            "Set PREFECT_API_URL to the server that the run was started on.",
        ) from None


def _result(run: RunFolder) -> SwarmResult | None:
    try:
        return run.result()
    except RunDamagedError as error:
        _logger.warning("%s It is written again.", error.problem)
        return None


async def _change(client: PrefectClient, flow_run: FlowRun, options: SwarmOptions) -> FlowRun:
    """Have the server keep the options, for this process and for whatever runs it later."""
    parameters = {**flow_run.parameters, "options": options.model_dump(mode="json")}
    await client.update_flow_run(flow_run.id, parameters=parameters)
    return flow_run.model_copy(update={"parameters": parameters})


async def _reopen(client: PrefectClient, flow_run: FlowRun) -> FlowRun:
    # Not a scheduled state, as AwaitingRetry would be: a worker would take it for work of its own.
    state = Pending(message="Resumed; what had finished is not done again.")
    await client.set_flow_run_state(flow_run.id, state, force=True)
    return await client.read_flow_run(flow_run.id)


async def _go_on(run: RunFolder, flow_run: FlowRun, *, start_over: bool) -> SwarmResult:
    given = flow_run.parameters
    options = stored_options(given.get("options")).model_copy(update={"start_over": start_over})
    parameters = {**given, "plan": stored_plan(given.get("plan")), "options": options}
    try:
        with without_prefect_spans(), not_waiting():
            going = run_flow_async(swarm, flow_run=flow_run, parameters=parameters)
            result = await refused_in_short(going)
    except (Pause, PausedRun) as error:
        raise left_waiting(error) from None
    except CancelledRun:
        raise RunCancelledError(
            f"Run {run.run_id} was cancelled.", f"Resume it with: resume {run.run_id}."
        ) from None
    return SwarmResult.model_validate(result)
