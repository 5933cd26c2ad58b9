"""The flow run on the server: its heartbeat, and its cancellation."""

from __future__ import annotations

import asyncio
import contextvars
import os
import signal
import threading
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from types import MappingProxyType
from typing import Any
from uuid import UUID

from prefect.client.orchestration import PrefectClient, get_client
from prefect.client.schemas.objects import FlowRun, StateType
from prefect.context import FlowRunContext
from prefect.events import emit_event
from prefect.exceptions import MissingContextError, ObjectNotFound, TerminationSignal
from prefect.logging import get_logger
from prefect.states import Cancelled, Running
from prefect.utilities.engine import is_prefect_sigterm_handler_installed

from ...errors import RunCancelledError
from ...settings import SwarmSettings
from ..control import RunControl

__all__ = [
    "HEARTBEAT",
    "beating",
    "cancelled_on_server",
    "current_flow_run",
    "end_cancelling",
    "send_event",
    "send_heartbeat",
    "terminable",
    "this_flow_run",
]


def current_flow_run() -> FlowRun | None:
    """Return the flow run that this code runs in; None if it runs in none."""
    context = FlowRunContext.get()
    return context.flow_run if context is not None else None


def this_flow_run() -> FlowRun:
    """Return the flow run that this code runs in.

    Raises:
        MissingContextError: It runs in none.
    """
    if (flow_run := current_flow_run()) is None:
        raise MissingContextError("It belongs to a flow run.")
    return flow_run


_ASKED = (StateType.CANCELLING, StateType.CANCELLED)
_ALIVE = "It counted as crashed, but its process is alive."
_PATIENCE = 12
"""Looks that a worker has to end the process: a minute, of which it gives the process half."""


@asynccontextmanager
async def cancelled_on_server(
    control: RunControl, flow_run_id: str, taken: asyncio.Event | None = None
) -> AsyncGenerator[RunControl]:
    """Give a run a control of its own, which is also cancelled when the server says so.

    So it is when it is `taken`: another process goes on with the run.

    It is the run's own because several runs may share the control around them.
    """
    own = replace(control, cancel=asyncio.Event())
    tasks = (
        asyncio.create_task(_pass_on(control.cancel, own.cancel)),
        asyncio.create_task(_pass_on(taken or asyncio.Event(), own.cancel)),
        asyncio.create_task(_watch(UUID(flow_run_id), own.cancel)),
    )
    try:
        yield own
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def end_cancelling(_flow: object, flow_run: FlowRun, _state: object) -> None:
    """Be the flow's hook for CANCELLING: what ran has ended, so it is cancelled.

    Prefect calls it where the request came when the run had come to its end: the server refuses any
    other end then. A runner calls it too, outside of the run, and sets the state itself.
    """
    here = current_flow_run()
    if here is None or here.id != flow_run.id:
        return
    state = Cancelled(message="It was cancelled on the server when it was ending.")
    async with get_client() as client:
        await client.set_flow_run_state(flow_run.id, state, force=True)


async def _pass_on(outer: asyncio.Event, own: asyncio.Event) -> None:
    await outer.wait()
    own.set()


async def _watch(flow_run_id: UUID, cancel: asyncio.Event) -> None:
    every_s = SwarmSettings().cancel_poll_s
    patience = _PATIENCE if _is_managed(flow_run_id) else 0
    asked = 0
    while True:
        await asyncio.sleep(every_s)
        try:
            async with get_client() as client:
                asked += await _is_asked(client, flow_run_id)
        except ObjectNotFound:
            return  # Somebody deleted the flow run: no request can come any more.
        except Exception as error:  # noqa: BLE001 - a server that is away for a while ends no run
            get_logger("swarm").debug("The flow run's state can't be read: %r", error)
        if asked > patience:
            cancel.set()
            return


async def _is_asked(client: PrefectClient, flow_run_id: UUID) -> bool:
    flow_run = await client.read_flow_run(flow_run_id)
    if flow_run.state_type == StateType.CRASHED:
        await client.set_flow_run_state(flow_run_id, Running(message=_ALIVE), force=True)
    return flow_run.state_type in _ASKED


def _is_managed(flow_run_id: UUID) -> bool:
    """Whether a worker or a runner started this process for this flow run, and will end it."""
    started_for = os.environ.get("PREFECT__FLOW_RUN_ID", "")
    return started_for.replace("-", "") == flow_run_id.hex


HEARTBEAT = "prefect-swarm.flow-run.heartbeat"
_END_S = 5.0


@contextmanager
def beating() -> Generator[None]:
    """Send heartbeats of the flow run around this code, from now to the end.

    They come from a thread, so that an event loop that is busy for long doesn't delay them.
    """
    every_s = SwarmSettings().heartbeat_s
    over = threading.Event()

    def beat() -> None:
        send_heartbeat()
        while not over.wait(every_s):
            send_heartbeat()

    # The thread needs the flow run, and the settings that name the server.
    context = contextvars.copy_context()
    thread = threading.Thread(target=context.run, args=(beat,), name="heartbeats", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        # None may come after the state that follows.
        thread.join(_END_S)


def send_heartbeat() -> None:
    """Send one, if this code is in a flow run; a server that can't be reached costs nothing."""
    context = FlowRunContext.get()
    if context is None or context.flow_run is None:
        return
    run = context.flow_run
    related = [_related("flow", str(run.flow_id), context.flow.name if context.flow else "")]
    if run.deployment_id is not None:
        related.append(_related("deployment", str(run.deployment_id)))
    send_event(HEARTBEAT, run.id, run.name, related=related)


def send_event(
    event: str,
    flow_run_id: UUID,
    name: str,
    labels: Mapping[str, str] = MappingProxyType({}),
    **said: Any,
) -> None:
    """Send an event of a flow run; a server that can't be reached costs nothing.

    Args:
        event: The event's name.
        flow_run_id: Which flow run.
        name: The flow run's name.
        labels: Further labels of the resource.
        said: What else the event has: `payload`, `related`.
    """
    resource = {
        "prefect.resource.id": f"prefect.flow-run.{flow_run_id}",
        "prefect.resource.name": name,
        **labels,
    }
    try:
        emit_event(event, resource, **said)
    except Exception as error:  # noqa: BLE001 - it is for those who look at the server alone
        get_logger("swarm").debug("The event %s can't be sent: %r", event, error)


def _related(role: str, identity: str, name: str = "") -> dict[str, str]:
    named = {"prefect.resource.name": name} if name else {}
    return {
        "prefect.resource.id": f"prefect.{role}.{identity}",
        "prefect.resource.role": role,
        **named,
    }


_under_way: dict[asyncio.Event, RunControl] = {}
"""What SIGTERM cancels: an event that says it came, and the run's control."""


@contextmanager
def terminable(control: RunControl) -> Generator[None]:
    """Cancel a run cleanly by SIGTERM, where no more than Prefect's handler takes it.

    Raises:
        TerminationSignal: The run was cancelled by it; to Prefect the flow run has crashed, or is
            cancelled where a worker was asked to.
    """
    if not _can_listen():
        yield
        return
    came = asyncio.Event()
    if not _under_way:
        _listen()
    _under_way[came] = control
    try:
        yield
    except RunCancelledError as error:
        if came.is_set():
            raise TerminationSignal(signal.SIGTERM) from error
        raise
    finally:
        del _under_way[came]
        if not _under_way:
            _stop_listening()


def _can_listen() -> bool:
    on_main_thread = threading.current_thread() is threading.main_thread()
    return on_main_thread and is_prefect_sigterm_handler_installed()


def _listen() -> None:
    """Hear of the signal in the event loop too; Prefect's handler stays the one in place."""
    before = signal.getsignal(signal.SIGTERM)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, _cancel)
    signal.signal(signal.SIGTERM, before)


def _stop_listening() -> None:
    before = signal.getsignal(signal.SIGTERM)
    asyncio.get_running_loop().remove_signal_handler(signal.SIGTERM)
    signal.signal(signal.SIGTERM, before)


def _cancel() -> None:
    for came, control in _under_way.items():
        came.set()
        control.cancel.set()
