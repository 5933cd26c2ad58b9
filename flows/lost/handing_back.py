"""Give a lost run back to its work pool: the worker of the machine that has it may take it next."""

from __future__ import annotations

import logging
from datetime import timedelta

from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import FlowRun
from prefect.exceptions import Pause
from prefect.states import AwaitingRetry
from prefect.types._datetime import now

from ...errors import RunLostError
from ..approving.forms.server import SERVER_ERRORS, report
from .place import HANDED_BACK, RunPlace, noted_place

__all__ = ["MOST_TIMES", "hand_back", "wait_before"]

MOST_TIMES = 20
"""How often in a row a run is handed back, before it fails; about an hour and a half in all."""
_FIRST_S, _MOST_S = 30.0, 300.0

_logger = logging.getLogger("prefect_swarm.runs")


def wait_before(times: int) -> float:
    """Return how many seconds pass until a run that was handed back so often is due. Pure."""
    return min(_FIRST_S * 2.0**times, _MOST_S)


async def hand_back(flow_run: FlowRun, here: RunPlace, error: RunLostError) -> None:
    """Have a worker take a lost run later; returns where none could go on with it.

    It is due after a pause that grows, so that workers without its folder don't pass it to and fro.
    It isn't Crashed: what puts a crashed run back at once would have it here again.

    Raises:
        Pause: It is AwaitingRetry, with the error's message.
    """
    times = int(str(flow_run.labels.get(HANDED_BACK) or 0))
    is_gone = noted_place(flow_run) == here
    is_pooled = flow_run.deployment_id is not None and flow_run.parent_task_run_id is None
    if is_gone or not is_pooled or times >= MOST_TIMES:
        return
    wait_s = wait_before(times)
    state = AwaitingRetry(
        message=f"Handed back, for {wait_s:.0f} s, to whoever has its folder. {error}",
        scheduled_time=now("UTC") + timedelta(seconds=wait_s),
    )
    try:
        async with get_client() as client:
            await client.update_flow_run_labels(flow_run.id, {HANDED_BACK: times + 1})
            accepted = await report(client, flow_run.id, state)
    except SERVER_ERRORS as problem:
        _logger.warning("Flow run %s can't be handed back: %r", flow_run.id, problem)
        return
    if accepted is not None:
        raise Pause(state=accepted)
