"""A run that waits for a person: suspended without its process, or paused within it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import State
from prefect.exceptions import ObjectNotFound, Pause
from prefect.logging import get_logger
from prefect.states import Paused

from ...errors import ServerError
from ...store.approvals import Approvals
from ...store.protocol import RunStore
from ...store.question import Question, RunWaitingError
from ..control import AskPerson, RunControl
from .flow_run import send_heartbeat
from .form import PersonForm, forget_form, is_suspended, stored_forms
from .form_service import SERVER_ERRORS, FormDesk, form_state, is_shown, report, run_again, wake
from .temporary_server import configured_url

__all__ = [
    "FORM_LOOK_S",
    "PausedForm",
    "SuspendedRun",
    "asker_of",
    "leave",
    "report_suspended",
    "sooner_of",
    "wake_suspended",
]


async def sooner_of(*ways: Coroutine[Any, Any, None]) -> None:
    """Return or raise what the first of some work does; the rest is cancelled, and has ended."""
    tasks = [asyncio.create_task(way) for way in ways]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in done:
        task.result()


_logger = logging.getLogger("prefect_swarm.runs")


@dataclass(frozen=True, slots=True)
class SuspendedRun:
    """What a run is left with: its form, what that asks, and what its flow run's state says."""

    form: PersonForm
    questions: tuple[Question, ...]
    message: str


def leave(desk: FormDesk, error: RunWaitingError) -> SuspendedRun:
    """Write down the form that a run is left with.

    The run's lock has to be held.

    Raises:
        StorageError: It can't be written down.
    """
    questions = Approvals(desk.run).pending()
    form = desk.new_form(questions, suspended=desk.can_suspend)
    shown = RunWaitingError(error.run_id, error.questions, suspended=desk.can_suspend)
    return SuspendedRun(form, questions, str(shown))


async def report_suspended(
    desk: FormDesk, paused: SuspendedRun, error: RunWaitingError
) -> State[Any]:
    """Show the form of a run that is left: its flow run is paused, or suspended, and ends here.

    The run's lock has to be free, so that the person who answers can resume it.

    Returns:
        The state of a flow run that can't be paused now; it shows no form.

    Raises:
        Pause: It is paused, or suspended: a worker goes on with it then.
    """
    _calm_engine()
    try:
        async with get_client() as client:
            state = await report(client, desk.flow_run.id, form_state(paused.form, paused.message))
    except SERVER_ERRORS as problem:
        _logger.warning("The form can't be shown in the Prefect UI: %r", problem)
        return Paused(message=paused.message)
    if state is None:
        return Paused(message=paused.message)
    try:
        async with get_client() as client:
            await desk.put(client, paused.form, paused.questions)
            # An answer from before the suspension could not resume it.
            pending = {question.id for question in Approvals(desk.run).pending()}
            if not error.questions or any(q.id not in pending for q in error.questions):
                await wake(client, desk.flow_run.id)
    except SERVER_ERRORS as problem:
        _logger.warning("The form can't be shown in the Prefect UI: %r", problem)
    raise Pause(state=state)


_ENDINGS = ("Finished in state Suspended", "Finished in state Paused")


def _calm(record: logging.LogRecord) -> bool:
    """Have Prefect's line on the end of a run that waits be no error."""
    if record.levelno == logging.ERROR and str(record.msg).startswith(_ENDINGS):
        vars(record).update(levelno=logging.INFO, levelname="INFO")
    return True


def _calm_engine() -> None:
    # Prefect's engine logs at ERROR whatever isn't completed. A second time adds nothing.
    get_logger("flow_runs").addFilter(_calm)


def wake_suspended(run: RunStore) -> bool:
    """Have a worker go on with a run that is suspended; False if none will.

    A server that can't be reached, or that doesn't know the run, costs a warning.
    """
    if not is_suspended(run):
        return False
    try:
        if configured_url() is None:
            return False
        return asyncio.run(_wake(UUID(run.about().flow_run_id)))
    except (*SERVER_ERRORS, ObjectNotFound, ServerError, ValueError) as error:
        _logger.warning("The Prefect server doesn't go on with run %s: %r", run.run_id, error)
        return False


async def _wake(flow_run_id: UUID) -> bool:
    async with get_client() as client:
        return await wake(client, flow_run_id)


FORM_LOOK_S = 2.0
"""Seconds between two looks at what the server has of a form."""


async def _pause() -> None:
    await asyncio.sleep(FORM_LOOK_S)


def asker_of(desk: FormDesk, control: RunControl) -> AskPerson | None:
    """Return what asks a person while the run waits in its process; None if it is left."""
    if control.ask_person is None and (desk.can_suspend or not control.waits):
        return None
    paused = PausedForm(desk)

    async def ask(run: RunStore, questions: tuple[Question, ...]) -> None:
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
        form: PersonForm | None = None
        try:
            async with get_client() as client:
                state = (await client.read_flow_run(self.desk.flow_run.id)).state
                if state is None or not state.is_running():
                    # The server was away when this form was to be shown, or closed.
                    open_forms = (f for f in stored_forms(self.desk.run) if is_shown(state, f))
                    if (open_form := next(open_forms, None)) is not None:
                        await self.desk.put(client, open_form, questions)
                    return open_form
                form = self.desk.new_form(questions, suspended=False)
                message = str(RunWaitingError(self.desk.run.run_id, questions))
                if await report(client, self.desk.flow_run.id, form_state(form, message)) is None:
                    forget_form(self.desk.run, form)
                    return None
                await self.desk.put(client, form, questions)
        except asyncio.CancelledError:
            if form is not None:  # A command has answered what it asks.
                await self._close(form)
            raise
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
