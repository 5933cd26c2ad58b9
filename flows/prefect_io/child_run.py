"""Flow runs that a run creates on work pools: which deployment, how far they are, their end."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import suppress
from typing import Any
from uuid import UUID

from prefect.client.orchestration import PrefectClient, get_client
from prefect.client.schemas.filters import (
    FlowFilter,
    FlowFilterName,
    WorkPoolFilter,
    WorkPoolFilterName,
)
from prefect.client.schemas.objects import FlowRun, StateType, WorkPoolStatus
from prefect.client.schemas.responses import DeploymentResponse
from prefect.events.clients import get_events_subscriber
from prefect.events.filters import EventFilter, EventNameFilter, EventResourceFilter
from prefect.exceptions import ObjectNotFound
from prefect.states import AwaitingRetry, Cancelled, Cancelling
from prefect.utilities.urls import url_for

from ...errors import InputError, ServerError
from .form_service import SERVER_ERRORS
from .server_access import shown_address

__all__ = [
    "cancel_child",
    "changes_of",
    "choose_deployment",
    "create_child",
    "find_deployments",
    "is_child_lost",
    "is_lost",
    "page_of",
    "start_again",
    "takes_any_plan",
]

_logger = logging.getLogger("prefect_swarm.runs")
_FLOW = "swarm"
_POLL_S = 5.0
"""Seconds after which a flow run is looked at without an event: one may be missed."""


def choose_deployment(pool: str, names: Sequence[str]) -> int:
    """Return which of a pool's deployments of the flow `swarm` runs a part: its place. Pure.

    Args:
        pool: The work pool.
        names: Names of the deployments.

    Raises:
        InputError: There is none, or several of which none is named `swarm`.
    """
    if len(names) == 1:
        return 0
    if _FLOW in names:
        return names.index(_FLOW)
    if names:
        raise InputError(
            f"The work pool {pool!r} has {len(names)} deployments of the flow {_FLOW}: "
            f"{', '.join(sorted(names))}.",
            f"Name one of them {_FLOW!r}, or leave one of them.",
        )
    raise InputError(
        f"The work pool {pool!r} has no deployment of the flow {_FLOW}.",
        f"Make one: prefect deploy prefect_swarm.flows.swarm:swarm --name {pool} --pool {pool}",
    )


def takes_any_plan(form: Mapping[str, Any] | None) -> bool:
    """Return whether runs of a deployment may have any plan: that of a procedure takes its own.

    Pure.

    Args:
        form: The schema of the deployment's parameters.
    """
    plan = (form or {}).get("properties", {}).get("plan", {})
    return "properties" not in plan


async def find_deployments(pools: Mapping[str, str]) -> dict[str, UUID]:
    """Find the deployment that runs a part of a plan on each work pool.

    A pool without a worker that is online costs a warning: one may come.

    Args:
        pools: A step that names the pool, by the pool's name.

    Raises:
        InputError: A pool isn't there, is paused, or has no deployment of the flow `swarm`.
        ServerError: The server can't be asked.
    """
    try:
        async with get_client() as client:
            return {pool: await _find(client, pool, step) for pool, step in pools.items()}
    except SERVER_ERRORS as error:
        raise ServerError(
            f"The work pools of the plan can't be looked at: {error!r}.",
            "Start the run again once the Prefect server answers.",
        ) from error


async def _find(client: PrefectClient, name: str, step: str) -> UUID:
    try:
        pool = await client.read_work_pool(name)
    except ObjectNotFound:
        raise InputError(
            f"Step {step} is to be done on the work pool {name!r}, which the Prefect server "
            f"{shown_address(str(client.api_url))} doesn't have.",
            f"Make it (`prefect work-pool create {name} --type process`), a deployment (`prefect "
            f"deploy prefect_swarm.flows.swarm:swarm --name {name} --pool {name}`) and a worker "
            f"(`prefect worker start --pool {name}`), or set PREFECT_API_URL to the server.",
        ) from None
    if pool.is_paused:
        raise InputError(
            f"The work pool {name!r} of step {step} is paused.",
            f"Let it go on: prefect work-pool resume {name}",
        )
    if pool.status is WorkPoolStatus.NOT_READY and not (pool.is_push_pool or pool.is_managed_pool):
        _logger.warning(
            "The work pool %s of step %s has no worker online; the step waits for one. Start it: "
            "prefect worker start --pool %s",
            name,
            step,
            name,
        )
    deployments: list[DeploymentResponse] = await client.read_deployments(
        flow_filter=FlowFilter(name=FlowFilterName(any_=[_FLOW])),
        work_pool_filter=WorkPoolFilter(name=WorkPoolFilterName(any_=[name])),
    )
    found = [each for each in deployments if takes_any_plan(each.parameter_openapi_schema)]
    return found[choose_deployment(name, [each.name for each in found])].id


async def create_child(
    deployment: UUID, key: str, name: str, parameters: dict[str, Any]
) -> FlowRun:
    """Create a flow run, or return the one that was created under the same key.

    Raises:
        ServerError: The server doesn't take it.
    """
    try:
        async with get_client() as client:
            return await client.create_flow_run_from_deployment(
                deployment, parameters=parameters, name=name, idempotency_key=key
            )
    except (*SERVER_ERRORS, ObjectNotFound) as error:
        raise ServerError(
            f"The flow run of a part can't be created: {error!r}.",
            "Look at the deployment on the Prefect server, and resume the run.",
        ) from error


def page_of(flow_run_id: UUID) -> str:
    """Return where the Prefect UI shows a flow run; "" where no UI is known."""
    url = url_for("flow-run", obj_id=flow_run_id)
    return shown_address(url) if url else ""


async def changes_of(flow_run_id: UUID) -> AsyncGenerator[FlowRun]:
    """Yield a flow run as it is now, and then each time that its state is another one.

    Events of the server say when; it is looked at from time to time besides. A server that doesn't
    answer is asked again.

    Raises:
        ServerError: It is not there any more.
    """
    told = asyncio.Event()
    listening = asyncio.create_task(_listen(flow_run_id, told))
    known: UUID | None = None
    try:
        async with get_client() as client:
            while True:
                told.clear()
                try:
                    flow_run = await client.read_flow_run(flow_run_id)
                except ObjectNotFound:
                    raise ServerError(
                        f"Flow run {flow_run_id} of a part was deleted.",
                        "Resume the run, with --retry-failed.",
                    ) from None
                except SERVER_ERRORS as error:
                    _logger.warning("Flow run %s can't be looked at: %r", flow_run_id, error)
                else:
                    if flow_run.state is not None and flow_run.state.id != known:
                        known = flow_run.state.id
                        yield flow_run
                with suppress(TimeoutError):
                    async with asyncio.timeout(_POLL_S):
                        await told.wait()
    finally:
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)


async def _listen(flow_run_id: UUID, told: asyncio.Event) -> None:
    only = EventFilter(
        event=EventNameFilter(prefix=["prefect.flow-run."]),
        resource=EventResourceFilter(id=[f"prefect.flow-run.{flow_run_id}"]),
    )
    while True:
        try:
            async with get_events_subscriber(filter=only) as events:
                # What came before it listened is read now.
                told.set()
                async for _ in events:
                    told.set()
        except Exception as error:  # noqa: BLE001 - without events it is looked at all the same
            _logger.debug("No events of flow run %s: %r", flow_run_id, error)
        await asyncio.sleep(_POLL_S)


MOST_REPORTS = 4
"""Crashes after which a flow run is lost, whether or not it ran in between."""


def is_lost(states: Sequence[StateType]) -> bool:
    """Whether a flow run has crashed for the second time. Pure.

    Prefect reports one end of a process twice: the second report may come when the next process is
    about to begin. So a crash counts if the flow run was Running since the one before; a process
    that never gets that far ends it after some more.

    Args:
        states: Its states so far, in their order.
    """
    crashes = losses = 0
    was_running = True
    for state in states:
        if state is StateType.RUNNING:
            was_running = True
        elif state is StateType.CRASHED:
            crashes += 1
            losses += was_running
            was_running = False
    return losses > 1 or crashes >= MOST_REPORTS


async def is_child_lost(flow_run_id: UUID) -> bool:
    """Whether a flow run has crashed too often to be begun again."""
    async with get_client() as client:
        states = await client.read_flow_run_states(flow_run_id)
    return is_lost([state.type for state in sorted(states, key=lambda state: state.timestamp)])


async def start_again(flow_run_id: UUID, why: str) -> None:
    """Have a worker go on with a flow run that has ended."""
    async with get_client() as client:
        await client.set_flow_run_state(flow_run_id, AwaitingRetry(message=why), force=True)


async def cancel_child(flow_run_id: UUID, why: str) -> None:
    """Cancel a flow run; its worker ends the process. One that has crashed isn't started again."""
    try:
        async with get_client() as client:
            state = (await client.read_flow_run(flow_run_id)).state
            if state is None or not state.is_final():
                await client.set_flow_run_state(flow_run_id, Cancelling(message=why))
            elif state.is_crashed():
                await client.set_flow_run_state(flow_run_id, Cancelled(message=why), force=True)
    except (*SERVER_ERRORS, ObjectNotFound) as error:
        _logger.warning("Flow run %s can't be cancelled: %r", flow_run_id, error)
