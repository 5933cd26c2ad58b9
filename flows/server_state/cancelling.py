"""A run ends when its flow run is cancelled on the server: `prefect flow-run cancel`, or the UI.

A worker, or the runner of `flow.serve`, ends the process by SIGTERM then. Where neither runs the
flow, nothing would happen: Prefect leaves the flow run CANCELLING, and the run would complete.

The same look finds a run that counts as crashed on the server while this process executes it:
its heartbeats were late, or the server was away. It is Running again then.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from uuid import UUID

from prefect.client.orchestration import PrefectClient, get_client
from prefect.client.schemas.objects import FlowRun, StateType
from prefect.exceptions import ObjectNotFound
from prefect.logging import get_logger
from prefect.states import Cancelled, Running

from ...settings import SwarmSettings
from ..control import RunControl
from .current import current_flow_run

__all__ = ["cancelled_on_server", "end_cancelling"]

_ASKED = (StateType.CANCELLING, StateType.CANCELLED)
_ALIVE = "It counted as crashed, but its process is alive."
_PATIENCE = 12
"""Looks that a worker has to end the process: a minute, of which it gives the process half."""


@asynccontextmanager
async def cancelled_on_server(control: RunControl, flow_run_id: str) -> AsyncGenerator[RunControl]:
    """Give a run a control of its own, which is also cancelled when the server says so.

    It is the run's own because several runs may share the control around them.
    """
    own = replace(control, cancel=asyncio.Event())
    tasks = (
        asyncio.create_task(_pass_on(control.cancel, own.cancel)),
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
