"""Task runs on the server, running one inside a flow, and the folder of their results."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Callable, Collection, Iterable, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, cast
from uuid import UUID

from prefect import Task
from prefect.client.base import ServerType
from prefect.client.orchestration import PrefectClient, get_client
from prefect.client.schemas.filters import (
    FlowRunFilter,
    FlowRunFilterId,
    TaskRunFilter,
    TaskRunFilterState,
    TaskRunFilterStateType,
)
from prefect.client.schemas.objects import State, StateDetails, StateType, TaskRun
from prefect.client.schemas.sorting import TaskRunSort
from prefect.context import FlowRunContext
from prefect.filesystems import LocalFileSystem
from prefect.futures import PrefectFuture
from prefect.logging import get_logger
from prefect.states import Crashed
from prefect.utilities.annotations import allow_failure, quote
from prefect.utilities.engine import emit_task_run_state_change_event
from pydantic import BaseModel

from ...files import OWNER_ONLY, READABLE, close_to_others, is_shared_mode
from ...tasks.context import TaskCalls, current_task, task_context
from ...tasks.subagent.request import SubagentResult, UnansweredError
from ...untrusted.folder import UntrustedFolder
from .flow_run import current_flow_run

__all__ = [
    "ResultFolder",
    "look_up_result_folder",
    "read_task_runs",
    "result_in",
    "run_task",
    "state_of",
    "states_of",
    "task_run_of",
    "task_runs_of",
    "until_state_seen",
    "without_orphaned_task_runs",
]


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


async def until_state_seen(flow_run_id: UUID, ended: Collection[UUID]) -> None:
    """On Prefect's own temporary server, wait until it knows of the end of these task runs.

    It ends with the process and loses what it has not written by then. It is used where a flow of
    somebody else's calls a swarm and no server is configured.
    """
    try:
        async with get_client() as client:
            if client.server_type == ServerType.EPHEMERAL:
                await _until_state_seen(client, flow_run_id, frozenset(ended))
    except Exception as error:  # noqa: BLE001 - it is for those who look at the server alone
        get_logger("swarm").debug("The server's states can't be read: %r", error)


async def _until_state_seen(
    client: PrefectClient, flow_run_id: UUID, ended: frozenset[UUID]
) -> None:
    clock = asyncio.get_running_loop().time
    before, since = len(ended), clock()
    while before and clock() - since < _STUCK_S:
        seen = {run.id for run in await read_task_runs(client, flow_run_id, *_OVER)}
        remaining = len(ended - seen)
        if remaining != before:
            before, since = remaining, clock()
        if remaining:
            await asyncio.sleep(_LOOK_S)


_TIMEOUT_S = 20.0
_SETTLE_S = 3.0
_LOOK_FOR_ORPHANS_S = 0.1
_OPEN = (StateType.PENDING, StateType.RUNNING)
_KILLED = "The process that executed it ended without a word: it was killed, or its machine failed."
_LOST = "The run ended without hearing of its end."


@asynccontextmanager
async def without_orphaned_task_runs(flow_run_id: str) -> AsyncGenerator[None]:
    """End what earlier processes left of this flow run, and at its end what is left of it now.

    The run's lock has to be held. A server that refuses costs a warning.
    """
    run, again = UUID(flow_run_id), _started_before()
    calls = TaskCalls()
    with task_context(calls=calls):
        if again:
            await _end_open(run, calls, _KILLED)
        try:
            yield
        finally:
            if calls.broken:
                await _end_open(run, calls, _LOST, settle_s=_SETTLE_S)
            else:
                # Begun before: the server got events of the killed process after this one began.
                await _end_open(run, calls, _KILLED if again else None)
            await until_state_seen(run, calls.ended)


def _started_before() -> bool:
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
    """Return the open task runs, when only the ends of those in `ended` are still missing.

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


def state_of(task_run: str) -> State[Any]:
    """Stand for a task run that is over, by its id, in the edges that are drawn."""
    try:
        details = StateDetails(task_run_id=UUID(task_run))
    except ValueError:
        details = StateDetails()  # An edge that nothing can be drawn from.
    return State(type=StateType.COMPLETED, state_details=details)


def states_of(task_runs: Iterable[str]) -> tuple[State[Any], ...]:
    """Do as `state_of` does, for several task runs."""
    return tuple(map(state_of, task_runs))


def task_run_of(state: State[Any] | None) -> str:
    """Return Prefect's id of the task run that ended in a state; "" if there is none."""
    found = state.state_details.task_run_id if state else None
    return str(found) if found else ""


def task_runs_of(states: Iterable[State[Any]]) -> tuple[str, ...]:
    """Return the ids of the task runs that ended in some states."""
    return tuple(filter(None, map(task_run_of, states)))


async def run_task(
    task: Task[..., Any],
    payload: BaseModel,
    *,
    name: str,
    wait_for: Sequence[State[Any] | None] = (),
) -> tuple[State[Any], Any]:
    """Run a task and return its state with its result, or with the exception it failed by.

    Args:
        task: An async task of two parameters, the payload and the task run's name; giving each call
            a name this way costs a third of a millisecond, `with_options` ten times that.
        payload: What it is given, as JSON's objects; quoted, so that Prefect does not walk it.
        name: The task run's name.
        wait_for: States whose edges to draw. They are over, one way or another: whether the task
            is to run at all has been decided already.
    """
    ids = (state.state_details.task_run_id for state in wait_for if state is not None)
    edges = [allow_failure(_Edge(task_run_id)) for task_run_id in ids if task_run_id is not None]
    calls = current_task().calls
    with calls.call():
        state: State[Any] = await cast("Any", task)(
            quote(payload.model_dump(mode="json")), name, return_state=True, wait_for=edges
        )
    calls.note(state)
    content: Any = await cast("Any", state).result(raise_on_failure=False)
    return state, content


def result_in(content: object) -> SubagentResult | None:
    """Return the result that a subagent's task run came to; None if it broke instead."""
    if isinstance(content, UnansweredError):
        return content.result
    return SubagentResult.model_validate(content) if isinstance(content, dict) else None


_NOT_READY: State[Any] = State(type=StateType.PENDING, name="NotReady")


class _Edge(PrefectFuture[Any]):
    """A future of a task run that is over, for the graph alone.

    A final state would have Prefect fetch its result in a thread of its own, some milliseconds for
    each edge; what is NotReady, under `allow_failure`, it only notes. And a future's fields it
    doesn't look through, as it does a state's.
    """

    def __init__(self, task_run_id: UUID) -> None:
        self._id = task_run_id

    @property
    def task_run_id(self) -> UUID:
        return self._id

    @property
    def state(self) -> State[Any]:
        return _NOT_READY

    def wait(self, timeout: float | None = None) -> None:
        """Return immediately."""

    def result(self, timeout: float | None = None, raise_on_failure: bool = True) -> Any:
        """Return nothing: only its id counts."""

    def add_done_callback(self, fn: Callable[[PrefectFuture[Any]], None]) -> None:
        """Call it immediately: the task run is over."""
        fn(self)


class ResultFolder(LocalFileSystem):
    """A folder without links on the way to it; `basepath` is absolute."""

    # A name of its own: Prefect keeps one class for each.
    _block_type_name = "Swarm Result Folder"
    _block_type_slug = "swarm-result-folder"

    def _resolve_path(self, path: str) -> Path:
        base = self.basepath or os.getcwd()
        found = os.path.normpath(os.path.join(base, path)) if path else base
        if found != base and not found.startswith(os.path.join(base, "")):
            raise ValueError(f"The path {found} is outside of the folder {base}.")
        return Path(found)

    async def aread_path(self, path: str) -> bytes:
        """Read a result; a link, or anything else but a file, is none."""
        base, name = self._below(path)
        try:
            content = await asyncio.to_thread(UntrustedFolder(base).read, name)
        except OSError as error:
            raise ValueError(f"The result {path} can't be read: {error}.") from error
        # An older version's are closed when they are read.
        close_to_others(base / name)
        return content

    async def awrite_path(self, path: str, content: bytes) -> str:
        """Write a result, in the place of what has its name."""
        return await asyncio.to_thread(self.write_path, path, content)

    def write_path(self, path: str, content: bytes, **_: Any) -> str:
        """Write a result, in the place of what has its name."""
        base, name = self._below(path)
        UntrustedFolder(base).replace(name, content, _mode_in(base), durable=False)
        return str(base / name)

    def _below(self, path: str) -> tuple[Path, str]:
        base = self._resolve_path("")
        return base, self._resolve_path(path).relative_to(base).as_posix()


def _mode_in(folder: Path) -> int:
    """Return the mode of a result: where a group shares its folder, the umask decides."""
    try:
        return READABLE if is_shared_mode(os.stat(folder).st_mode) else OWNER_ONLY
    except FileNotFoundError:
        return OWNER_ONLY


def look_up_result_folder() -> None:
    """Have the flow run's tasks use the folder that its results are in as it is now.

    Nothing changes where results are not in a local folder, or a block of the user's says where.
    """
    context = FlowRunContext.get()
    if context is None:
        return
    storage = context.result_store.result_storage
    # Only Prefect's own kind: another has its own way to find files.
    if type(storage) is not LocalFileSystem or not storage.basepath:
        return
    if getattr(storage, "_block_document_id", None) is None:
        base = Path(storage.basepath).expanduser().resolve()
        context.result_store.result_storage = ResultFolder(basepath=str(base))
