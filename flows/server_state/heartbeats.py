"""A process that executes a flow run says on the server that it is alive, while it executes it.

Prefect's own heartbeats don't serve for that. They come every 180 seconds unless each worker has a
setting, and one may come after the state that ends the run, or that suspends it. An automation that
waits for the next one then crashes a run that waits for a person. These begin with the body of the
flow, and end before it is left.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Generator
from contextlib import contextmanager

from prefect.context import FlowRunContext
from prefect.events import emit_event
from prefect.logging import get_logger

from ...settings import SwarmSettings

__all__ = ["HEARTBEAT", "beating", "send_heartbeat"]

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
    resource = {"prefect.resource.id": f"prefect.flow-run.{run.id}"}
    try:
        emit_event(HEARTBEAT, {**resource, "prefect.resource.name": run.name}, related=related)
    except Exception as error:  # noqa: BLE001 - it is for those who look at the server alone
        get_logger("swarm").debug("A heartbeat can't be sent: %r", error)


def _related(role: str, identity: str, name: str = "") -> dict[str, str]:
    named = {"prefect.resource.name": name} if name else {}
    return {
        "prefect.resource.id": f"prefect.{role}.{identity}",
        "prefect.resource.role": role,
        **named,
    }
