"""Task runs that no process executes any more end as Crashed.

A process that is killed tells the server nothing: what it was executing would be RUNNING or PENDING
for ever. Whoever holds a run's lock knows that no other process executes any of its task runs.

Prefect's engine reports the states of task runs by events, and the server goes by their times. So
this is an event, too, and its time is right after the last state that is known: if the real end is
only late, it still counts.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Collection
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any, cast
from uuid import UUID

from prefect.client.orchestration import PrefectClient, get_client
from prefect.client.schemas.objects import State, StateType, TaskRun
from prefect.context import FlowRunContext
from prefect.logging import get_logger
from prefect.states import Crashed
from prefect.utilities.engine import emit_task_run_state_change_event

from .calls import noting_calls
from .hearing import read_task_runs, until_heard

__all__ = ["no_task_run_left"]

_TIMEOUT_S = 20.0
_SETTLE_S = 3.0
_LOOK_S = 0.1
_OPEN = (StateType.PENDING, StateType.RUNNING)
_KILLED = "The process that executed it ended without a word: it was killed, or its machine failed."
_LOST = "The run ended without hearing of its end."


@asynccontextmanager
async def no_task_run_left(flow_run_id: str) -> AsyncGenerator[None]:
    """End what earlier processes left of this flow run, and at its end what is left of it now.

    The run's lock has to be held. A server that refuses costs a warning.
    """
    run, again = UUID(flow_run_id), _begun_before()
    with noting_calls() as calls:
        if again:
            await _bounded(run, _KILLED, frozenset(), settle_s=0)
        try:
            yield
        finally:
            if calls.broken:
                await _bounded(run, _LOST, calls.ended, settle_s=_SETTLE_S)
            elif again:
                # What the server heard of the killed process after this one had begun.
                await _bounded(run, _KILLED, calls.ended, settle_s=0)
            await until_heard(run, calls.ended)


def _begun_before() -> bool:
    context = FlowRunContext.get()
    return context is not None and context.flow_run is not None and context.flow_run.run_count > 0


async def _bounded(
    flow_run_id: UUID, why: str, ended: Collection[UUID], *, settle_s: float
) -> None:
    try:
        async with asyncio.timeout(_TIMEOUT_S), get_client() as client:
            left = await _left(client, flow_run_id, ended, settle_s)
        for task_run in left:
            _crash(task_run, why)
    except Exception as error:  # noqa: BLE001 - it is for those who look at the server alone
        get_logger("swarm").warning(
            "Task runs that nothing executes may stay open on the server: %r", error
        )


async def _left(
    client: PrefectClient, flow_run_id: UUID, ended: Collection[UUID], settle_s: float
) -> list[TaskRun]:
    """Return the open task runs but for those whose end is known, once the server has heard all.

    What was cancelled just now ends itself; the server hears of it a moment later.
    """
    deadline = asyncio.get_running_loop().time() + settle_s
    while True:
        found = [
            run for run in await read_task_runs(client, flow_run_id, *_OPEN) if run.id not in ended
        ]
        if not found or asyncio.get_running_loop().time() >= deadline:
            return found
        await asyncio.sleep(_LOOK_S)


def _crash(task_run: TaskRun, why: str) -> None:
    before = task_run.state
    if before is None:
        return
    state: State[None] = Crashed(message=why)
    state.timestamp = before.timestamp + timedelta(microseconds=1)
    state.state_details.task_run_id = task_run.id
    state.state_details.flow_run_id = task_run.flow_run_id
    task_run.end_time = cast("Any", state.timestamp)
    emit_task_run_state_change_event(task_run=task_run, initial_state=before, validated_state=state)
