"""Task runs that no process executes any more end on the server, too.

A process that is killed tells the server nothing: what it was executing would be RUNNING or
PENDING for ever, and ends as Crashed. Whoever holds a run's lock knows that no other process
executes any of its task runs. And a server that is killed forgets what it had heard but not written
yet: an end that is known here is reported again.

Prefect's engine reports the states of task runs by events, and the server goes by their times. So
this is an event, too. A crash's time is right after the last state that is known: if the real end
is only late, it still counts. An end that is reported again has the time and id that it had: the
server takes it once.
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
from prefect.logging import get_logger
from prefect.states import Crashed
from prefect.utilities.engine import emit_task_run_state_change_event

from .calls import TaskCalls, noting_calls
from .current import current_flow_run
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
            await _end_open(run, calls, _KILLED)
        try:
            yield
        finally:
            if calls.broken:
                await _end_open(run, calls, _LOST, settle_s=_SETTLE_S)
            else:
                # Begun before: what the server heard of the killed process after this one began.
                await _end_open(run, calls, _KILLED if again else None)
            await until_heard(run, calls.ended)


def _begun_before() -> bool:
    flow_run = current_flow_run()
    return flow_run is not None and flow_run.run_count > 0


async def _end_open(
    flow_run_id: UUID, calls: TaskCalls, why: str | None, *, settle_s: float = 0
) -> None:
    """Report the ends of open task runs: those that are known again, the others as crashes.

    Args:
        why: What to say of the crashes; None where there is nothing that could have crashed.
    """
    try:
        async with asyncio.timeout(_TIMEOUT_S), get_client() as client:
            found = await _open(client, flow_run_id, calls.ended, settle_s)
        for task_run in found:
            if (end := calls.ended.get(task_run.id)) is not None:
                _report(task_run, end)
            elif why is not None:
                _crash(task_run, why)
    except Exception as error:  # noqa: BLE001 - it is for those who look at the server alone
        get_logger("swarm").warning(
            "Task runs that nothing executes may stay open on the server: %r", error
        )


async def _open(
    client: PrefectClient, flow_run_id: UUID, ended: Collection[UUID], settle_s: float
) -> list[TaskRun]:
    """Return the open task runs, when only the ends of those in `ended` are still to be heard.

    What was cancelled just now ends itself; the server hears of it a moment later.
    """
    deadline = asyncio.get_running_loop().time() + settle_s
    while True:
        found = await read_task_runs(client, flow_run_id, *_OPEN)
        settled = all(run.id in ended for run in found)
        if settled or asyncio.get_running_loop().time() >= deadline:
            return found
        await asyncio.sleep(_LOOK_S)


def _crash(task_run: TaskRun, why: str) -> None:
    if (before := task_run.state) is None:
        return
    state: State[None] = Crashed(message=why)
    state.timestamp = before.timestamp + timedelta(microseconds=1)
    state.state_details.task_run_id = task_run.id
    state.state_details.flow_run_id = task_run.flow_run_id
    _report(task_run, state)


def _report(task_run: TaskRun, end: State[Any]) -> None:
    task_run.end_time = cast("Any", end.timestamp)
    emit_task_run_state_change_event(
        task_run=task_run, initial_state=task_run.state, validated_state=end
    )
