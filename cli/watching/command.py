"""`prefect-swarm watch`: a run that another process works on, live, until it is over."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from ...errors import RunCancelledError, RunNotFoundError, RunTerminatedError
from ...exit_codes import ExitCode
from ...text import one_line
from ..inspect import show_run
from ..output.printing import print_section, print_text
from ..progress.lines import PlainScreen
from ..progress.live import LiveScreen
from ..progress.session import say
from ..progress.terminated import Terminated
from ..resume import RunName
from ..runs import is_executed
from .flow_run import FlowSnapshot, flow_code, flow_words
from .following import FollowedRun, code_of, follow_run

if TYPE_CHECKING:
    from uuid import UUID

    from ...runs import RunFolder

__all__ = ["watch"]

_LOOK_S = 1.0
"""Seconds between two looks at a Prefect server."""
_T = TypeVar("_T")


def watch(
    run_name: RunName,
    exit_code: Annotated[
        bool, typer.Option("--exit-code", help="End with the run's exit code, not with 0.")
    ] = False,
) -> int:
    """Watch a run that another process works on, until it is over; then show its summary.

    Ctrl-C ends the watch and never the run. A run whose folder isn't here is watched through the
    Prefect server that PREFECT_API_URL names.
    """
    from ...runs import find_run

    try:
        run = find_run(run_name)
    except RunNotFoundError as error:
        code = _watch_on_server(run_name, error)
    else:
        code = _watch_folder(run)
    return code if exit_code else ExitCode.COMPLETED


def _watch_folder(run: RunFolder) -> ExitCode:
    result = None if is_executed(run.folder) else run.result()
    last = None
    if result is None:
        followed = _until_left(_follow(run), run.run_id)
        last = followed.last
        result = run.result() if followed.stage == "over" else None
    show_run(run)
    return code_of(last, result and result.status)


async def _follow(run: RunFolder) -> FollowedRun:
    from .flow_run import is_open_on_server

    about = run.about()
    title = str(about.get("objective", run.run_id))
    screen = LiveScreen(title) if sys.stderr.isatty() else PlainScreen(title, say)
    with screen:
        return await follow_run(
            run,
            screen.hear,
            screen.note,
            lambda: is_open_on_server(str(about.get("flow_run_id", ""))),
        )


def _until_left(work: Coroutine[Any, Any, _T], name: str) -> _T:
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
        raise RunCancelledError("The watch was left.", again) from None


def _watch_on_server(name: str, missing: RunNotFoundError) -> ExitCode:
    from .flow_run import server_url

    url = server_url(missing)
    flow = _until_left(_follow_flow(name, url, missing), name)
    if not isinstance(flow, FlowSnapshot):
        return _watch_folder(flow)
    _print_flow(flow)
    return flow_code(flow)


async def _follow_flow(name: str, url: str, missing: RunNotFoundError) -> FlowSnapshot | RunFolder:
    """Follow a flow run until it is over, or until its run begins in a folder here."""
    from prefect.client.orchestration import get_client

    from .flow_run import find_flow_run, read_flow
    from .flow_screens import FlowBoard, FlowLines

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
                    screen.note(_waiting_words(flow_run_id) if flow.waits else note)
                waited = flow.waits
                screen.show(flow)
                await asyncio.sleep(_LOOK_S)
                if (run := _begun_here(flow_run_id)) is not None:
                    return run
                flow = await read_flow(client, flow_run_id)
            screen.show(flow)
    return flow


def _begun_here(flow_run_id: UUID) -> RunFolder | None:
    from ...runs import RunFolder

    run = RunFolder.of(str(flow_run_id))
    return run if run.has("run.json") else None


def _waiting_words(flow_run_id: UUID) -> str:
    from prefect.utilities.urls import url_for

    from ...runs import run_id_of

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
