"""A run that is left waiting: its process ends, and its flow run shows a form."""

from __future__ import annotations

import asyncio
import logging
from typing import Any
from uuid import UUID

from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import State
from prefect.exceptions import ObjectNotFound, Pause
from prefect.states import Paused

from ....approvals.store import Approvals
from ....approvals.waiting import RunWaitingError
from ....errors import ServerError
from ....runs import RunFolder
from ...temporary_server.server import configured_url
from .desk import FormDesk
from .kept import is_suspended
from .server import SERVER_ERRORS, form_state, report, wake

__all__ = ["leave", "suspend", "wake_suspended"]

_logger = logging.getLogger("prefect_swarm.runs")


async def leave(desk: FormDesk, error: RunWaitingError) -> State[Any]:
    """Show what is pending, and return the state of a flow run that is left with it.

    The run's lock has to be held.
    """
    questions = Approvals(desk.run).pending()
    form = desk.new_form(questions, suspended=desk.can_suspend)
    try:
        async with get_client() as client:
            await desk.put(client, form, questions)
    except SERVER_ERRORS as problem:
        _logger.warning("The form can't be shown in the Prefect UI: %r", problem)
        return Paused(message=str(error))
    shown = RunWaitingError(error.run_id, error.questions, suspended=desk.can_suspend)
    return form_state(form, str(shown))


async def suspend(desk: FormDesk, state: State[Any], error: RunWaitingError) -> State[Any]:
    """Report a flow run that is left; a suspended one ends here, and a worker goes on with it.

    The run's lock has to be free, so that whoever answers can have it gone on with.

    Raises:
        Pause: It is suspended.
    """
    if not state.state_details.pause_reschedule:
        return state
    async with get_client() as client:
        suspended = await report(client, desk.flow_run.id, state)
        if suspended is None:
            return Paused(message=state.message)
        # Whoever answered before it was suspended could not have it gone on with.
        pending = {question.id for question in Approvals(desk.run).pending()}
        if not error.questions or any(q.id not in pending for q in error.questions):
            await wake(client, desk.flow_run.id)
    raise Pause(state=suspended)


def wake_suspended(run: RunFolder) -> bool:
    """Have a worker go on with a run that is suspended; False if none will.

    A server that can't be reached, or that doesn't know the run, costs a warning.
    """
    if not is_suspended(run):
        return False
    try:
        if configured_url() is None:
            return False
        return asyncio.run(_wake(UUID(run.about()["flow_run_id"])))
    except (*SERVER_ERRORS, ObjectNotFound, ServerError) as error:
        _logger.warning("The Prefect server doesn't go on with run %s: %r", run.run_id, error)
        return False


async def _wake(flow_run_id: UUID) -> bool:
    async with get_client() as client:
        return await wake(client, flow_run_id)
