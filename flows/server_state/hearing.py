"""What the server has heard of a run's task runs."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from uuid import UUID

from prefect.client.base import ServerType
from prefect.client.orchestration import PrefectClient, get_client
from prefect.client.schemas.filters import (
    FlowRunFilter,
    FlowRunFilterId,
    TaskRunFilter,
    TaskRunFilterState,
    TaskRunFilterStateType,
)
from prefect.client.schemas.objects import StateType, TaskRun
from prefect.client.schemas.sorting import TaskRunSort
from prefect.logging import get_logger

__all__ = ["read_task_runs", "until_heard"]

_BATCH = 200
_MOST = 50 * _BATCH
_STUCK_S = 5.0
_LOOK_S = 0.2
_OVER = (StateType.COMPLETED, StateType.FAILED, StateType.CRASHED, StateType.CANCELLED)


async def read_task_runs(
    client: PrefectClient, flow_run_id: UUID, *states: StateType
) -> list[TaskRun]:
    """Return a flow run's task runs that are in one of these states; not more than 10,000."""
    wanted = TaskRunFilterState(type=TaskRunFilterStateType(any_=[*states]))
    found: list[TaskRun] = []
    while len(found) < _MOST:
        batch = await client.read_task_runs(
            flow_run_filter=FlowRunFilter(id=FlowRunFilterId(any_=[flow_run_id])),
            task_run_filter=TaskRunFilter(state=wanted),
            sort=TaskRunSort.ID_DESC,
            limit=_BATCH,
            offset=len(found),
        )
        found += batch
        if len(batch) < _BATCH:
            break
    return found


async def until_heard(flow_run_id: UUID, ended: Collection[UUID]) -> None:
    """On Prefect's own temporary server, wait until it knows of the end of these task runs.

    It ends with the process and loses what it has not written by then. It is used where a flow of
    somebody else's calls a swarm and no server is configured.
    """
    try:
        async with get_client() as client:
            if client.server_type == ServerType.EPHEMERAL:
                await _until_heard(client, flow_run_id, frozenset(ended))
    except Exception as error:  # noqa: BLE001 - it is for those who look at the server alone
        get_logger("swarm").debug("What the server has heard can't be read: %r", error)


async def _until_heard(client: PrefectClient, flow_run_id: UUID, ended: frozenset[UUID]) -> None:
    clock = asyncio.get_running_loop().time
    before, since = len(ended), clock()
    while before and clock() - since < _STUCK_S:
        heard = {run.id for run in await read_task_runs(client, flow_run_id, *_OVER)}
        left = len(ended - heard)
        if left != before:
            before, since = left, clock()
        if left:
            await asyncio.sleep(_LOOK_S)
