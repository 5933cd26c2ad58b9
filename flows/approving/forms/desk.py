"""A run's forms: shown while it waits for a person, and their answers written down."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import httpx
from prefect.client.orchestration import PrefectClient, get_client
from prefect.client.schemas.objects import FlowRun, State
from prefect.context import FlowRunContext
from prefect.exceptions import MissingContextError, Pause
from prefect.logging import get_run_logger
from prefect.states import Paused

from ....approvals.question import Question
from ....approvals.store import Approvals
from ....approvals.waiting import RunWaitingError
from ....errors import AnsweredError, InputError, RunDamagedError
from ....runs import RunFolder
from ....task_ir import TaskIR
from ...control import AskPerson, RunControl
from ...edited.current import current_plan, rules_of
from ...edited.plan_file import problems_of
from .fields import PersonForm, form_of
from .kept import forget_form, keep_form, kept_forms
from .reading import plan_json, read_response
from .server import form_state, is_shown, put_form, report, response_of, run_again, wake
from .sooner import sooner_of

__all__ = ["FORM_LOOK_S", "SERVER_ERRORS", "FormDesk", "desk_of"]

FORM_LOOK_S = 2.0
"""Seconds between two looks at what the server has of a form."""

SERVER_ERRORS = (httpx.HTTPError, RuntimeError)
"""What Prefect's client raises where the server is away; a RuntimeError if it can't connect."""

_logger = logging.getLogger("prefect_swarm.runs")


async def _pause() -> None:
    await asyncio.sleep(FORM_LOOK_S)


def desk_of(run: RunFolder) -> FormDesk:
    """Return what shows the forms of the flow run that this code runs in."""
    context = FlowRunContext.get()
    if context is None or context.flow_run is None:
        raise MissingContextError("Forms belong to a flow run.")
    return FormDesk(run, context.flow_run)


@dataclass(slots=True)
class FormDesk:
    """Shows the forms of one flow run, and takes what comes back.

    Attributes:
        pause: Passes the time until the server is asked again.
    """

    run: RunFolder
    flow_run: FlowRun
    pause: Callable[[], Awaitable[None]] = _pause
    clock: Callable[[], float] = time.time
    _problems: tuple[str, ...] = field(init=False, default=())
    _plan_text: str = field(init=False, default="")

    @property
    def can_suspend(self) -> bool:
        """Whether a worker may go on with the flow run later: Prefect refuses it of subflows."""
        has_deployment = self.flow_run.deployment_id is not None
        return has_deployment and self.flow_run.parent_task_run_id is None

    def asker(self, control: RunControl) -> AskPerson | None:
        """Return what asks a person while the run waits in its process; None if it is left."""
        if control.ask_person is None and (self.can_suspend or not control.waits):
            return None

        async def ask(run: RunFolder, questions: tuple[Question, ...]) -> None:
            if control.ask_person is None:
                waiting = RunWaitingError(run.run_id, questions)
                _logger.warning("%s\n  Or: answer in the Prefect UI", waiting)
                await self._ask(questions)
            else:
                await sooner_of(self._ask(questions), control.ask_person(run, questions))

        return ask

    async def take_answers(self) -> bool:
        """Write down what was answered in forms that can't be answered any more.

        Says whether anything was. A server that can't be read costs a warning: the questions stay open, and so do the forms.
        """
        answered = False
        for form in kept_forms(self.run):
            try:
                async with get_client() as client:
                    response = await response_of(client, self.flow_run.id, form)
            except SERVER_ERRORS as error:
                _logger.warning("What was answered in the Prefect UI can't be read: %r", error)
                continue
            answered = self._take(form, response) or answered
        return answered

    async def leave(self, error: RunWaitingError) -> State[Any]:
        """Show what is pending, and return the state of a flow run that is left with it.

        The run's lock has to be held.
        """
        questions = Approvals(self.run).pending()
        form = self._form(questions, suspended=self.can_suspend)
        try:
            async with get_client() as client:
                await self._put(client, form, questions)
        except SERVER_ERRORS as problem:
            _logger.warning("The form can't be shown in the Prefect UI: %r", problem)
            return Paused(message=str(error))
        return form_state(form, str(error))

    async def suspend(self, state: State[Any], error: RunWaitingError) -> State[Any]:
        """Report a flow run that is left; a suspended one ends here, and a worker goes on with it.

        The run's lock has to be free, so that whoever answers can have it gone on with.

        Raises:
            Pause: It is suspended.
        """
        if not state.state_details.pause_reschedule:
            return state
        async with get_client() as client:
            suspended = await report(client, self.flow_run.id, state)
            if suspended is None:
                return Paused(message=state.message)
            # Whoever answered before it was suspended could not have it gone on with.
            pending = {question.id for question in Approvals(self.run).pending()}
            if not error.questions or any(q.id not in pending for q in error.questions):
                await wake(client, self.flow_run.id)
        raise Pause(state=suspended)

    async def _ask(self, questions: tuple[Question, ...]) -> None:
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
            state = (await client.read_flow_run(self.flow_run.id)).state
            if state is None or not state.is_running():
                # The server was away when this form was to be closed.
                return next((f for f in kept_forms(self.run) if is_shown(state, f)), None)
            form = self._form(questions, suspended=False)
            await self._put(client, form, questions)
            message = str(RunWaitingError(self.run.run_id, questions))
            shown = await report(client, self.flow_run.id, form_state(form, message))
        if shown is None:
            forget_form(self.run, form)
            return None
        return form

    async def _until_running(self) -> None:
        """Return when somebody has resumed the flow run."""
        async with get_client() as client:
            while True:
                await self.pause()
                try:
                    state = (await client.read_flow_run(self.flow_run.id)).state
                except SERVER_ERRORS as error:
                    _logger.debug("The flow run's state can't be read: %r", error)
                    continue
                if state is not None and state.is_running():
                    return

    async def _close(self, form: PersonForm) -> bool:
        """Have the flow run be Running, and say whether the form was answered."""
        try:
            async with get_client() as client:
                await run_again(client, self.flow_run.id, form)
        except SERVER_ERRORS as error:
            _logger.warning("The flow run can't be set Running: %r", error)
            return False
        # Only now can no answer come any more.
        return await self.take_answers()

    def _form(self, questions: tuple[Question, ...], *, suspended: bool) -> PersonForm:
        plan = self._plan_text
        if not plan and (before := self._plan()) is not None:
            plan = plan_json(before)
        return form_of(questions, uuid4().hex, suspended=suspended, plan_text=plan)

    async def _put(
        self, client: PrefectClient, form: PersonForm, questions: tuple[Question, ...]
    ) -> None:
        keep_form(self.run, form)
        await put_form(client, self.flow_run.id, form, questions, self._problems)

    def _take(self, form: PersonForm, response: object) -> bool:
        """Write down what was answered in a form, and say whether anything was."""
        before = self._plan()
        rules = rules_of(self.run)

        def read_plan(text: str) -> Any:
            return () if before is None else problems_of(text, before, rules)

        read = read_response(form, response, before, read_plan, self.clock())
        problems = [*read.problems] if response is not None else []
        for answer in read.answers:
            try:
                Approvals(self.run).answer(answer)
            except (AnsweredError, RunDamagedError) as error:
                problems.append(error.problem)
        for problem in problems:
            # The person who answered looks at the flow run's logs.
            get_run_logger().warning("Of the form's answer: %s", problem)
        self._problems, self._plan_text = tuple(problems), read.plan_text
        forget_form(self.run, form)
        return bool(read.answers)

    def _plan(self) -> TaskIR | None:
        with suppress(InputError):
            return current_plan(self.run)
        return None
