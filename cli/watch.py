"""`prefect-swarm watch`: a run that another process works on, live, until it is over."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import typer

from ..errors import (
    ExitCode,
    RunCancelledError,
    RunNotFoundError,
    RunTerminatedError,
    exit_code_of_status,
)
from ..flows.prefect_io.form import is_suspended
from ..store.approvals import Approvals
from ..store.events import AskedEvent, BeganEvent, EventSink, FinishedEvent, RunEvent
from ..store.protocol import RunStore, run_id_of
from ..store.runs import find_run, open_run
from ..text import one_line
from .inspect import show_run
from .run import RunName
from .terminal.interruption import Terminated
from .terminal.printing import print_section, print_text
from .terminal.screens import LiveScreen, PlainScreen
from .terminal.session import say
from .watch_flow_run import (
    FlowBoard,
    FlowLines,
    FlowSnapshot,
    find_flow_run,
    flow_code,
    flow_words,
    is_open_on_server,
    read_flow,
    server_url,
)

if TYPE_CHECKING:
    from uuid import UUID

    from ..store.protocol import RunStore

__all__ = ["FollowedRun", "Stage", "code_of", "follow_run", "stage_of", "watch"]


Stage = Literal["works", "elsewhere", "waits", "over", "left"]
"""`works`: a process of this machine does. `elsewhere`: Prefect's server says that the flow run is
not over. `waits`: it was left until a person answers. `over`: it has its result. `left`: it has
none, and nothing works on it."""


def stage_of(
    last: RunEvent | None, *, is_alive: bool, has_result: bool, is_open_on_server: bool
) -> Stage:
    """Say where a run stands.

    Args:
        last: Its last event; None if it has none.
        is_alive: Whether a process of this machine works on it, asked before the event was read.
        has_result: Whether its folder has its result.
        is_open_on_server: Whether a Prefect server has its flow run as not over.
    """
    if is_alive and not (isinstance(last, FinishedEvent) and has_result):
        return "works"
    if has_result:
        return "over"
    if isinstance(last, FinishedEvent):
        return "waits" if last.status == "waiting" else "left"
    return "elsewhere" if is_open_on_server else "left"


def code_of(last: RunEvent | None, status: str | None, *, is_whole: bool = True) -> ExitCode:
    """Return the exit code that a run has earned, by its result's status or its last event.

    Args:
        last: Its last event.
        status: How it ended; None without a result.
        is_whole: Whether it lost no step and no item.
    """
    if status is not None:
        return exit_code_of_status(status, is_whole=is_whole)
    if isinstance(last, FinishedEvent) and last.status == "cancelled":
        return ExitCode.CANCELLED
    return ExitCode.FAILED


_LOOK_S = 0.2
"""Seconds between two looks for events."""
_ASK_S = 2.0
"""Seconds between two questions to a Prefect server."""


@dataclass(slots=True)
class FollowedRun:
    """How far a run was followed: its stage and its last event."""

    stage: Stage
    last: RunEvent | None


async def follow_run(
    run: RunStore,
    handle: EventSink,
    note: Callable[[str], None],
    is_open: Callable[[], Awaitable[bool]],
) -> FollowedRun:
    """Tell of a run's events, those that were there and those that come, until it is over.

    Args:
        run: The run's folder.
        hear: Hears of each event.
        note: Gets lines about the run as a whole that a person should read.
        is_open: Asks a Prefect server whether the flow run is not over; False without a server.
    """
    reader, followed, noted = run.event_feed(), FollowedRun("works", None), ""
    while True:
        # Asked first: what the process wrote before it ended is then read below.
        alive = run.is_executed()
        for event in reader.fresh():
            followed.last = event
            handle(event)
            if isinstance(event, BeganEvent):
                noted = ""
            elif isinstance(event, AskedEvent) and Approvals(run).pending():
                note(_to_answer(run.run_id))
        followed.stage = await _stage(run, followed.last, is_open, is_alive=alive)
        if followed.stage in ("over", "left"):
            return followed
        if (text := _note(followed.stage, run)) and text != noted:
            noted = text
            note(text)
        await asyncio.sleep(_ASK_S if followed.stage == "elsewhere" else _LOOK_S)


async def _stage(
    run: RunStore,
    last: RunEvent | None,
    is_open: Callable[[], Awaitable[bool]],
    *,
    is_alive: bool,
) -> Stage:
    has_result = run.has_result()
    asks = not is_alive and not has_result and not isinstance(last, FinishedEvent)
    is_open_on_server = asks and await is_open()
    return stage_of(
        last, is_alive=is_alive, has_result=has_result, is_open_on_server=is_open_on_server
    )


def _note(stage: Stage, run: RunStore) -> str:
    if stage == "waits":
        return _waiting_words(run)
    if stage == "elsewhere":
        return (
            "No process of this machine works on it, and Prefect's server has it as not over. If "
            f"no other machine works on it: prefect-swarm resume {run.run_id}"
        )
    return ""


def _waiting_words(run: RunStore) -> str:
    if not is_suspended(run):
        return f"It was left until a person answers. {_to_answer(run.run_id)} --resume"
    if not Approvals(run).pending():
        return "It has its answer, and waits for a worker that resumes it."
    return f"It waits for a person; then a worker resumes it. {_to_answer(run.run_id)}"


def _to_answer(run_id: str) -> str:
    return (
        f"To see what it asks: prefect-swarm waiting {run_id}. "
        f"To answer: prefect-swarm approve {run_id}"
    )


_SERVER_LOOK_S = 1.0
"""Seconds between two looks at a Prefect server."""
_T = TypeVar("_T")


def watch(
    run_name: RunName,
    exit_code: Annotated[
        bool, typer.Option("--exit-code", help="End with the run's exit code, not with 0.")
    ] = False,
) -> int:
    """Watch a run of another process until it ends; then show its summary.

    Ctrl-C ends the watch and never the run. A run whose folder isn't here is watched through the
    Prefect server that PREFECT_API_URL names.
    """

    try:
        run = find_run(run_name)
    except RunNotFoundError as error:
        code = _watch_on_server(run_name, error)
    else:
        code = _watch_folder(run)
    return code if exit_code else ExitCode.COMPLETED


def _watch_folder(run: RunStore) -> ExitCode:
    result = None if run.is_executed() else run.result()
    last = None
    if result is None:
        followed = _until_suspended(_follow(run), run.run_id)
        last = followed.last
        result = run.result() if followed.stage == "over" else None
    show_run(run)
    return code_of(last, result and result.status, is_whole=not (result and result.failures))


async def _follow(run: RunStore) -> FollowedRun:

    about = run.about()
    title = about.objective or run.run_id
    screen = LiveScreen(title) if sys.stderr.isatty() else PlainScreen(title, say)
    with screen:
        return await follow_run(
            run,
            screen.handle,
            screen.note,
            lambda: is_open_on_server(about.flow_run_id),
        )


def _until_suspended(work: Coroutine[Any, Any, _T], name: str) -> _T:
    """Do some watching, until it ends or a signal ends it.

    Raises:
        RunCancelledError: The watch was left; it says that the run goes on.
    """
    again = f"Nothing of the run was changed. Watch it again: prefect-swarm watch {name}"
    try:
        return asyncio.run(work)
    except Terminated:
        raise RunTerminatedError("The watch was ended by SIGTERM.", again) from None
    except KeyboardInterrupt:
        raise RunCancelledError("The watch was cancelled.", again) from None


def _watch_on_server(name: str, missing: RunNotFoundError) -> ExitCode:

    url = server_url(missing)
    flow = _until_suspended(_follow_flow(name, url, missing), name)
    if not isinstance(flow, FlowSnapshot):
        return _watch_folder(flow)
    _print_flow(flow)
    return flow_code(flow)


async def _follow_flow(name: str, url: str, missing: RunNotFoundError) -> FlowSnapshot | RunStore:
    """Follow a flow run until it is over, or until its run begins in a folder here."""
    from prefect.client.orchestration import get_client

    async with get_client() as client:
        flow_run_id = await find_flow_run(client, name.strip())
        if flow_run_id is None:
            raise RunNotFoundError(
                missing.problem, f"The Prefect server at {url} has no such flow run either."
            )
        flow = await read_flow(client, flow_run_id)
        if flow.is_over:
            return flow
        note = f"Its folder isn't here: this is what the Prefect server at {url} knows."
        waited = False
        with FlowBoard(note) if sys.stderr.isatty() else FlowLines(note) as screen:
            while not flow.is_over:
                if flow.waits != waited:
                    screen.note(_flow_waiting_words(flow_run_id) if flow.waits else note)
                waited = flow.waits
                screen.show(flow)
                await asyncio.sleep(_SERVER_LOOK_S)
                if (run := _started_here(flow_run_id)) is not None:
                    return run
                flow = await read_flow(client, flow_run_id)
            screen.show(flow)
    return flow


def _started_here(flow_run_id: UUID) -> RunStore | None:

    run = open_run(str(flow_run_id))
    return run if run.about() else None


def _flow_waiting_words(flow_run_id: UUID) -> str:
    from prefect.utilities.urls import url_for

    return (
        f"It waits for a person. Answer its form at {url_for('flow-run', obj_id=flow_run_id)}, or "
        f"where its folder is: prefect-swarm approve {run_id_of(str(flow_run_id))}"
    )


def _print_flow(flow: FlowSnapshot) -> None:
    from prefect.utilities.urls import url_for

    print_section(one_line(flow.name, 200))
    print_text(f"Flow run {flow.id}: {flow_words(flow, time.time())}")
    if flow.message:
        print_text(one_line(flow.message, 600))
    print_text(
        "Its folder isn't here, and the answer, steps and tokens are in it. What the server has of "
        f"them are the flow run's artifacts: {url_for('flow-run', obj_id=flow.id)}"
    )
