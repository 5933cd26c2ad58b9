"""A run that is left waiting: its process ends, and its flow run shows a form."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import State
from prefect.exceptions import ObjectNotFound, Pause
from prefect.states import Paused

from ....approvals.question import Question
from ....approvals.store import Approvals
from ....approvals.waiting import RunWaitingError
from ....errors import ServerError
from ....runs import RunFolder
from ...temporary_server.server import configured_url
from .desk import FormDesk
from .fields import PersonForm
from .kept import is_suspended
from .server import SERVER_ERRORS, form_state, report, wake

__all__ = ["LeftRun", "leave", "report_left", "wake_suspended"]

_logger = logging.getLogger("prefect_swarm.runs")


@dataclass(frozen=True, slots=True)
class LeftRun:
    """What a run is left with: its form, what that asks, and what its flow run's state says."""

    form: PersonForm
    questions: tuple[Question, ...]
    message: str


def leave(desk: FormDesk, error: RunWaitingError) -> LeftRun:
    """Write down the form that a run is left with.

    The run's lock has to be held.

    Raises:
        StorageError: It can't be written down.
    """
    questions = Approvals(desk.run).pending()
    form = desk.new_form(questions, suspended=desk.can_suspend)
    shown = RunWaitingError(error.run_id, error.questions, suspended=desk.can_suspend)
    return LeftRun(form, questions, str(shown))


async def report_left(desk: FormDesk, left: LeftRun, error: RunWaitingError) -> State[Any]:
    """Show the form of a run that is left: its flow run is paused, or suspended, and ends here.

    The run's lock has to be free, so that whoever answers can have it gone on with.

    Returns:
        The state of a flow run that can't be paused now; it shows no form.

    Raises:
        Pause: It is paused, or suspended: a worker goes on with it then.
    """
    try:
        async with get_client() as client:
            state = await report(client, desk.flow_run.id, form_state(left.form, left.message))
    except SERVER_ERRORS as problem:
        _logger.warning("The form can't be shown in the Prefect UI: %r", problem)
        return Paused(message=left.message)
    if state is None:
        return Paused(message=left.message)
    try:
        async with get_client() as client:
            await desk.put(client, left.form, left.questions)
            # Whoever answered before it was suspended could not have it gone on with.
            pending = {question.id for question in Approvals(desk.run).pending()}
            if not error.questions or any(q.id not in pending for q in error.questions):
                await wake(client, desk.flow_run.id)
    except SERVER_ERRORS as problem:
        _logger.warning("The form can't be shown in the Prefect UI: %r", problem)
    raise Pause(state=state)


def wake_suspended(run: RunFolder) -> bool:
    """Have a worker go on with a run that is suspended; False if none will.

    A server that can't be reached, or that doesn't know the run, costs a warning.
    """
    if not is_suspended(run):
        return False
    try:
        if configured_url() is None:
            return False
        return asyncio.run(_wake(UUID(str(run.about().get("flow_run_id")))))
    except (*SERVER_ERRORS, ObjectNotFound, ServerError, ValueError) as error:
        _logger.warning("The Prefect server doesn't go on with run %s: %r", run.run_id, error)
        return False


async def _wake(flow_run_id: UUID) -> bool:
    async with get_client() as client:
        return await wake(client, flow_run_id)
