"""What the server has of a run's task runs, and ending those that no process executes any more."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Collection, Generator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, cast
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
from prefect.client.schemas.objects import State, StateType, TaskRun
from prefect.client.schemas.sorting import TaskRunSort
from prefect.logging import get_logger
from prefect.states import Crashed
from prefect.utilities.engine import emit_task_run_state_change_event

from .flow_run import current_flow_run

__all__ = [
    "TaskCalls",
    "current_calls",
    "no_task_run_left",
    "noting_calls",
    "read_task_runs",
    "until_heard",
]


@dataclass(slots=True)
class TaskCalls:
    """The calls of tasks in one run.

    Attributes:
        ended: The ends that are known here, by task run; the server may hear of one a moment later.
        broken: How many calls were left by an exception, so that the end isn't known.
    """

    ended: dict[UUID, State[Any]] = field(default_factory=dict[UUID, State[Any]])
    broken: int = 0

    @contextmanager
    def call(self) -> Generator[None]:
        """Count a call that an exception leaves."""
        try:
            yield
        except BaseException:
            self.broken += 1
            raise

    def note(self, state: State[Any]) -> None:
        """Note what a call came to."""
        task_run_id = state.state_details.task_run_id
        if state.is_final() and task_run_id is not None:
            self.ended[task_run_id] = state


_calls: ContextVar[TaskCalls | None] = ContextVar("swarm_task_calls", default=None)


@contextmanager
def noting_calls() -> Generator[TaskCalls]:
    """Have the calls inside noted."""
    calls = TaskCalls()
    token = _calls.set(calls)
    try:
        yield calls
    finally:
        _calls.reset(token)


def current_calls() -> TaskCalls:
    """Return where this run's calls are noted; outside of a run, nowhere that lasts."""
    return _calls.get() or TaskCalls()


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


_TIMEOUT_S = 20.0
_SETTLE_S = 3.0
_LOOK_FOR_ORPHANS_S = 0.1
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
        await asyncio.sleep(_LOOK_FOR_ORPHANS_S)


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
