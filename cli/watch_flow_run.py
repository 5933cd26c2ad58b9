"""A flow run and its task runs as a Prefect server has them."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Self
from uuid import UUID

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from ..errors import ExitCode, RunNotFoundError
from ..flows.prefect_io.server_access import shown_address
from ..flows.prefect_io.temporary_server import Server, configured_url
from ..store.protocol import run_id_of
from ..text import duration, one_line, plural, visible

if TYPE_CHECKING:
    from prefect.client.orchestration import PrefectClient
    from prefect.client.schemas.objects import FlowRun, State, TaskRun

__all__ = [
    "FlowBoard",
    "FlowLines",
    "FlowSnapshot",
    "TaskSnapshot",
    "changes",
    "draw_flow",
    "find_flow_run",
    "flow_code",
    "flow_words",
    "is_open_on_server",
    "read_flow",
    "server_url",
]


_OVER = frozenset({"COMPLETED", "FAILED", "CRASHED", "CANCELLED"})


@dataclass(frozen=True, slots=True)
class TaskSnapshot:
    """A task run. Times are seconds since the Unix epoch; None if it hasn't come to that.

    Attributes:
        state: The state's name: Running, Completed, Cached …
        kind: Its type: RUNNING, COMPLETED …
    """

    id: str
    name: str
    state: str
    kind: str
    started_at: float | None = None
    ended_at: float | None = None

    def took(self, now: float) -> str:
        """Say how long it has taken so far, or took."""
        if self.started_at is None:
            return ""
        return duration(max(0.0, (self.ended_at or now) - self.started_at))


@dataclass(frozen=True, slots=True)
class FlowSnapshot:
    """A flow run, and its task runs in the order in which they came.

    Attributes:
        more: Whether it has more task runs than these, older ones.
    """

    id: str
    name: str
    state: str
    kind: str
    message: str = ""
    started_at: float | None = None
    ended_at: float | None = None
    tasks: tuple[TaskSnapshot, ...] = ()
    more: bool = False

    @property
    def is_over(self) -> bool:
        """Whether it has ended."""
        return self.kind in _OVER

    @property
    def waits(self) -> bool:
        """Whether it waits for a person."""
        return self.kind == "PAUSED"


def changes(before: FlowSnapshot | None, now: FlowSnapshot) -> list[str]:
    """Write a line for each state that is another than it was, the flow run's own last."""
    known: Mapping[str, str] = (
        {task.id: task.state for task in before.tasks} if before is not None else {}
    )
    lines = [
        f"{one_line(task.name, 80)}: {task.state}"
        + (f" after {task.took(task.ended_at)}" if task.ended_at is not None else "")
        for task in now.tasks
        if known.get(task.id) != task.state
    ]
    if before is None or before.state != now.state:
        lines.append(f"The flow run is {now.state}")
    return lines


def flow_words(flow: FlowSnapshot, now: float) -> str:
    """Say in a line how far a flow run is."""
    over = _count(flow.tasks)
    many = f"{'at least ' if flow.more else ''}{plural(len(flow.tasks), 'task run')}"
    parts = [flow.state, many + (f": {over}" if over else "")]
    if flow.started_at is not None:
        parts.append(duration(max(0.0, (flow.ended_at or now) - flow.started_at)))
    return " · ".join(parts)


def _count(tasks: Iterable[TaskSnapshot]) -> str:
    counts = Counter(task.state for task in tasks)
    return ", ".join(f"{count:,} {state}" for state, count in counts.most_common())


def flow_code(flow: FlowSnapshot) -> ExitCode:
    """Return the exit code that a flow run has earned."""
    match flow.kind:
        case "COMPLETED":
            return ExitCode.PARTIAL if flow.state == "Partial" else ExitCode.COMPLETED
        case "CANCELLED":
            return ExitCode.CANCELLED
        case _:
            return ExitCode.FAILED


_BATCH = 200
_MOST_FLOW_RUNS, _MOST_TASK_RUNS = 2_000, 1_000


def server_url(missing: RunNotFoundError) -> str:
    """Return the address of the configured Prefect server, once it answers.

    Raises:
        RunNotFoundError: None is configured; `missing`, with what to do.
        ServerError: It doesn't answer.
    """
    url = configured_url()
    if url is None:
        raise RunNotFoundError(
            missing.problem,
            f"{missing.advice} For a run of another machine, name its Prefect server: "
            "PREFECT_API_URL=http://…/api.",
        )
    Server(url).wait()
    return shown_address(url)


async def find_flow_run(client: PrefectClient, name: str) -> UUID | None:
    """Find a flow run by its id, or by the id of the run, which is the beginning of it.

    By the latter only the newest 2,000 are looked at. None if there is none.
    """
    from prefect.client.schemas.sorting import FlowRunSort
    from prefect.exceptions import ObjectNotFound

    try:
        return (await client.read_flow_run(UUID(name))).id
    except ObjectNotFound:
        return None
    except ValueError:
        pass
    seen = 0
    while seen < _MOST_FLOW_RUNS:
        found = await client.read_flow_runs(
            sort=FlowRunSort.EXPECTED_START_TIME_DESC, limit=_BATCH, offset=seen
        )
        for flow_run in found:
            if run_id_of(str(flow_run.id)) == name:
                return flow_run.id
        seen += len(found)
        if len(found) < _BATCH:
            break
    return None


async def read_flow(client: PrefectClient, flow_run_id: UUID) -> FlowSnapshot:
    """Read a flow run and its newest 1,000 task runs."""
    from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterId
    from prefect.client.schemas.sorting import TaskRunSort

    # The state is asked first: task runs that ended with the flow run are then read below.
    flow_run = await client.read_flow_run(flow_run_id)
    only = FlowRunFilter(id=FlowRunFilterId(any_=[flow_run_id]))
    tasks: list[TaskRun] = []
    more = True
    while more and len(tasks) < _MOST_TASK_RUNS:
        batch = await client.read_task_runs(
            flow_run_filter=only,
            sort=TaskRunSort.EXPECTED_START_TIME_DESC,
            limit=_BATCH,
            offset=len(tasks),
        )
        tasks += batch
        more = len(batch) == _BATCH
    return _flow(flow_run, tuple(map(_task, reversed(tasks))), more=more)


async def is_open_on_server(flow_run_id: str) -> bool:
    """Whether a configured Prefect server has a flow run as not over; False where none answers."""
    if configured_url() is None:
        return False
    from prefect.client.orchestration import get_client

    try:
        async with get_client() as client:
            flow_run = await client.read_flow_run(UUID(flow_run_id))
    except Exception:  # noqa: BLE001 - a server that is away says nothing
        return False
    return flow_run.state is not None and not flow_run.state.is_final()


def _flow(flow_run: FlowRun, tasks: tuple[TaskSnapshot, ...], *, more: bool) -> FlowSnapshot:
    state, kind = _state(flow_run.state)
    return FlowSnapshot(
        str(flow_run.id),
        flow_run.name,
        state,
        kind,
        (flow_run.state.message if flow_run.state else "") or "",
        _seconds(flow_run.start_time),
        _seconds(flow_run.end_time),
        tasks,
        more,
    )


def _task(task_run: TaskRun) -> TaskSnapshot:
    state, kind = _state(task_run.state)
    return TaskSnapshot(
        str(task_run.id),
        task_run.name,
        state,
        kind,
        _seconds(task_run.start_time),
        _seconds(task_run.end_time),
    )


def _state(state: State | None) -> tuple[str, str]:
    if state is None:
        return "Pending", "PENDING"
    return state.name or state.type.value.capitalize(), state.type.value


def _seconds(time: datetime | None) -> float | None:
    return None if time is None else time.timestamp()


_STYLES = {
    "COMPLETED": "green",
    "FAILED": "red",
    "CRASHED": "red",
    "CANCELLED": "magenta",
    "RUNNING": "bold cyan",
    "PAUSED": "bold yellow",
}
_OTHER_LINES = 5  # of the board, without the task runs


class FlowBoard:
    """Draws a flow run's newest task runs on stderr, once each time that it is shown."""

    def __init__(self, note: str, clock: Callable[[], float] = time.time) -> None:
        self._note = note
        self._clock = clock
        self._console = Console(stderr=True, markup=False, emoji=False)
        self._live = Live(
            console=self._console,
            auto_refresh=False,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self._live.stop()

    def note(self, text: str) -> None:
        """Say something about the flow run as a whole, the next time that it is shown."""
        self._note = text

    def show(self, flow: FlowSnapshot) -> None:
        """Draw it as it is now."""
        lines = max(3, self._console.height - _OTHER_LINES)
        self._live.update(draw_flow(flow, self._clock(), lines, self._note), refresh=True)


class FlowLines:
    """Writes a line to stderr for each state that has changed."""

    def __init__(self, note: str, clock: Callable[[], float] = time.time) -> None:
        self._note = note
        self._clock = clock
        self._before: FlowSnapshot | None = None

    def __enter__(self) -> Self:
        _write(self._note)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        return None

    def note(self, text: str) -> None:
        """Say something about the flow run as a whole."""
        _write(text)

    def show(self, flow: FlowSnapshot) -> None:
        """Write what has changed since it was shown before."""
        now = self._clock()
        began = now if flow.started_at is None else flow.started_at
        for line in changes(self._before, flow):
            _write(f"{now - began:7.1f} s  {line}")
        self._before = flow


def draw_flow(flow: FlowSnapshot, now: float, lines: int, note: str) -> RenderableType:
    """Draw a flow run as it is at `now`, with at most `lines` of its task runs."""
    shown = _shown(flow.tasks, lines)
    table = Table(box=None, padding=(0, 1), header_style="dim")
    table.add_column("Task run", no_wrap=True, overflow="ellipsis")
    table.add_column("State", no_wrap=True)
    table.add_column("Started", no_wrap=True)
    table.add_column("Time", justify="right", no_wrap=True)
    for task in shown:
        table.add_row(
            Text(one_line(task.name, 70)),
            Text(task.state, style=_STYLES.get(task.kind, "dim")),
            _clock_time(task.started_at),
            task.took(now),
        )
    hidden = len(flow.tasks) - len(shown)
    parts: list[RenderableType] = [Text(one_line(flow.name, 78), style="bold"), table]
    if hidden:
        parts.append(Text(f"… and {plural(hidden, 'more task run')}", style="dim"))
    parts += [Text(flow_words(flow, now)), Text(visible(note), style="dim")]
    return Group(*parts)


def _shown(tasks: Sequence[TaskSnapshot], limit: int) -> list[TaskSnapshot]:
    """Choose the task runs that go on, and then the newest, in their order."""
    order = range(len(tasks))
    fresh = sorted(order, key=lambda number: (tasks[number].kind != "RUNNING", -number))
    return [tasks[number] for number in sorted(fresh[:limit])]


def _clock_time(at: float | None) -> str:
    return "" if at is None else time.strftime("%H:%M:%S", time.localtime(at))


def _write(text: str) -> None:
    sys.stderr.write(f"{visible(text)}\n")
    sys.stderr.flush()
