"""A run that waits in its process: its flow run is paused, with a form, until somebody answers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from prefect.client.orchestration import get_client

from ....approvals.question import Question
from ....approvals.waiting import RunWaitingError
from ....runs import RunFolder
from ...control import AskPerson, RunControl
from ...server_state.heartbeats import send_heartbeat
from .desk import FormDesk
from .fields import PersonForm
from .kept import forget_form, kept_forms
from .server import SERVER_ERRORS, form_state, is_shown, report, run_again
from .sooner import sooner_of

__all__ = ["FORM_LOOK_S", "PausedForm", "asker_of"]

FORM_LOOK_S = 2.0
"""Seconds between two looks at what the server has of a form."""

_logger = logging.getLogger("prefect_swarm.runs")


async def _pause() -> None:
    await asyncio.sleep(FORM_LOOK_S)


def asker_of(desk: FormDesk, control: RunControl) -> AskPerson | None:
    """Return what asks a person while the run waits in its process; None if it is left."""
    if control.ask_person is None and (desk.can_suspend or not control.waits):
        return None
    paused = PausedForm(desk)

    async def ask(run: RunFolder, questions: tuple[Question, ...]) -> None:
        if control.ask_person is None:
            waiting = RunWaitingError(run.run_id, questions)
            go_on = "Answer in the Prefect UI, or with: prefect-swarm approve"
            _logger.warning("%s %s %s", waiting.problem, go_on, run.run_id)
            await paused.ask(questions)
        else:
            await sooner_of(paused.ask(questions), control.ask_person(run, questions))

    return ask


@dataclass(slots=True)
class PausedForm:
    """Pauses a flow run with a form.

    Attributes:
        pause: Passes the time until the server is asked again.
    """

    desk: FormDesk
    pause: Callable[[], Awaitable[None]] = _pause

    async def ask(self, questions: tuple[Question, ...]) -> None:
        """Return when something was answered in a form; another one is shown until then."""
        while True:
            try:
                form = await self._open(questions)
            except SERVER_ERRORS as error:
                _logger.warning("The form can't be shown in the Prefect UI: %r", error)
                form = None
            if form is None:
                await self.pause()
                continue
            try:
                await self._until_running()
            finally:
                answered = await self._close(form)
            if answered:
                return

    async def _open(self, questions: tuple[Question, ...]) -> PersonForm | None:
        """Pause the flow run with a form; None if it isn't Running: it is being cancelled, say."""
        async with get_client() as client:
            state = (await client.read_flow_run(self.desk.flow_run.id)).state
            if state is None or not state.is_running():
                # The server was away when this form was to be shown, or closed.
                open_forms = (f for f in kept_forms(self.desk.run) if is_shown(state, f))
                if (left := next(open_forms, None)) is not None:
                    await self.desk.put(client, left, questions)
                return left
            form = self.desk.new_form(questions, suspended=False)
            message = str(RunWaitingError(self.desk.run.run_id, questions))
            if await report(client, self.desk.flow_run.id, form_state(form, message)) is None:
                forget_form(self.desk.run, form)
                return None
            await self.desk.put(client, form, questions)
        # The state says that no process need be alive. This one is, and its end is to be noticed.
        send_heartbeat()
        return form

    async def _until_running(self) -> None:
        """Return when somebody has resumed the flow run."""
        async with get_client() as client:
            while True:
                await self.pause()
                try:
                    state = (await client.read_flow_run(self.desk.flow_run.id)).state
                except SERVER_ERRORS as error:
                    _logger.debug("The flow run's state can't be read: %r", error)
                    continue
                if state is not None and state.is_running():
                    return

    async def _close(self, form: PersonForm) -> bool:
        """Have the flow run be Running, and say whether the form was answered."""
        try:
            async with get_client() as client:
                await run_again(client, self.desk.flow_run.id, form)
        except SERVER_ERRORS as error:
            _logger.warning("The flow run can't be set Running: %r", error)
            return False
        # Only now can no answer come any more.
        return await self.desk.take_answers()
