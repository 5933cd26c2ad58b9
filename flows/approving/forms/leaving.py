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

__all__ = ["leave", "suspend", "wake_suspended"]

_logger = logging.getLogger("prefect_swarm.runs")


def leave(desk: FormDesk) -> tuple[PersonForm, tuple[Question, ...]]:
    """Write down the form of what is pending, of a run that is left, and return it.

    The run's lock has to be held.

    Raises:
        StorageError: It can't be written down.
    """
    questions = Approvals(desk.run).pending()
    return desk.new_form(questions, suspended=desk.can_suspend), questions


async def suspend(
    desk: FormDesk, form: PersonForm, questions: tuple[Question, ...], error: RunWaitingError
) -> State[Any]:
    """Report a flow run that is left, with its form; with a suspended one a worker goes on.

    The run's lock has to be free, so that whoever answers can have it gone on with. It is reported
    here, since Prefect removes what a form had before its flow run was paused. Returns a state
    where the server takes no form, and of a subflow.

    Raises:
        Pause: It is paused.
    """
    if desk.flow_run.parent_task_run_id is not None:
        # The flow that it is part of gets the state, and no form is left after that.
        return Paused(message=str(error))
    shown = RunWaitingError(error.run_id, error.questions, suspended=form.suspended)
    left: State[Any] | None = None
    try:
        async with get_client() as client:
            left = await report(client, desk.flow_run.id, form_state(form, str(shown)))
            if left is None:
                return Paused(message=str(error))
            await desk.put(client, form, questions)
            # Whoever answered before it was suspended could not have it gone on with.
            pending = {question.id for question in Approvals(desk.run).pending()}
            is_answered = not error.questions or any(q.id not in pending for q in error.questions)
            if form.suspended and is_answered:
                await wake(client, desk.flow_run.id)
    except SERVER_ERRORS as problem:
        _logger.warning("The form can't be shown in the Prefect UI: %r", problem)
        if left is None:
            return Paused(message=str(error))
    raise Pause(state=left)


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
