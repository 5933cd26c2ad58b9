"""A run's forms in the Prefect UI: shown while it waits, read, and written down."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid4

import httpx
from prefect.client.orchestration import PrefectClient, get_client
from prefect.client.schemas.objects import FlowRun, State
from prefect.client.schemas.responses import SetStateStatus
from prefect.exceptions import PrefectHTTPStatusError
from prefect.logging import get_run_logger
from prefect.states import Paused, Running, Scheduled, Suspended

from ...errors import AnsweredError, InputError, RunDamagedError
from ...plan.documents import LineProblem
from ...plan.task_ir import TaskIR
from ...store.approvals import Approvals
from ...store.protocol import RunStore
from ...store.question import Question
from ...text import visible
from ..plan_changes import current_plan, rules_of
from .flow_run import this_flow_run
from .form import (
    PersonForm,
    description_of,
    forget_form,
    form_of,
    keep_form,
    plan_json,
    plan_of_text,
    plan_table,
    schema_of,
    stored_forms,
)
from .form_reading import read_response

__all__ = [
    "SERVER_ERRORS",
    "FormDesk",
    "desk_of",
    "form_state",
    "is_shown",
    "put_form",
    "report",
    "response_of",
    "run_again",
    "wake",
]


SERVER_ERRORS = (httpx.HTTPError, RuntimeError)
"""What Prefect's client raises where the server is away; a RuntimeError if it can't connect."""
_NOT_FOUND, _CONFLICT = 404, 409


async def put_form(
    client: PrefectClient,
    flow_run_id: UUID,
    form: PersonForm,
    schema: Mapping[str, Any],
    description: str,
) -> None:
    """Have the server keep a form, once a state names it: the UI shows it from then on.

    What it has of a form when a state names it, the server deletes: it may be an earlier attempt's.
    """
    for part, value in (("schema", schema), ("description", description)):
        try:
            await client.create_flow_run_input(
                flow_run_id=flow_run_id, key=form.keyset[part], value=json.dumps(value)
            )
        except PrefectHTTPStatusError as error:
            if error.response.status_code != _CONFLICT:  # It has it already.
                raise


def form_state(form: PersonForm, message: str) -> State[Any]:
    """Return the state of a flow run that shows a form; it has no end by itself."""
    # Prefect fails a flow run that is paused with a time-out.
    make = Suspended if form.suspended else Paused
    return make(
        message=message, pause_key=form.key, state_details={"run_input_keyset": form.keyset}
    )


def is_shown(state: State[Any] | None, form: PersonForm) -> bool:
    """Say whether a flow run in that state still shows the form."""
    return state is not None and state.is_paused() and state.state_details.pause_key == form.key


async def report(client: PrefectClient, flow_run_id: UUID, state: State[Any]) -> State[Any] | None:
    """Set a flow run's state, and return it as the server has it; None if it refuses."""
    result = await client.set_flow_run_state(flow_run_id, state)
    return result.state if result.status == SetStateStatus.ACCEPT else None


async def run_again(client: PrefectClient, flow_run_id: UUID, form: PersonForm) -> None:
    """Have a flow run that shows a form be Running; after that the form takes no answer."""
    state = (await client.read_flow_run(flow_run_id)).state
    if is_shown(state, form):
        await report(client, flow_run_id, Running())


async def wake(client: PrefectClient, flow_run_id: UUID) -> bool:
    """Have a suspended flow run be scheduled, without an answer; say whether it is scheduled."""
    state = (await client.read_flow_run(flow_run_id)).state
    if state is not None and state.is_scheduled():
        return True
    if state is None or not (state.is_paused() and state.state_details.pause_reschedule):
        return False
    # Not as the UI resumes it: that is refused where the form never reached the server.
    resuming: State[Any] = Scheduled(name="Resuming")
    return await report(client, flow_run_id, resuming) is not None


async def response_of(client: PrefectClient, flow_run_id: UUID, form: PersonForm) -> object:
    """Return what was answered in a form, as JSON has it; None if nothing was."""
    try:
        text = await client.read_flow_run_input(
            flow_run_id=flow_run_id, key=form.keyset["response"]
        )
    except PrefectHTTPStatusError as error:
        if error.response.status_code == _NOT_FOUND:
            return None
        raise
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text  # It is refused as what is not an answer.


_logger = logging.getLogger("prefect_swarm.runs")


def desk_of(run: RunStore) -> FormDesk:
    """Return what shows the forms of the flow run that this code runs in."""
    return FormDesk(run, this_flow_run())


@dataclass(slots=True)
class FormDesk:
    """Makes the forms of one flow run, and takes what comes back."""

    run: RunStore
    flow_run: FlowRun
    clock: Callable[[], float] = time.time
    _problems: tuple[str, ...] = field(init=False, default=())
    _plan_text: str = field(init=False, default="")

    @property
    def can_suspend(self) -> bool:
        """Whether a worker may go on with the flow run later: Prefect refuses it of subflows."""
        has_deployment = self.flow_run.deployment_id is not None
        return has_deployment and self.flow_run.parent_task_run_id is None

    async def take_answers(self) -> bool:
        """Write down what was answered in forms that can't be answered any more.

        A server that can't be read costs a warning: the questions stay open, and so do the forms.

        Returns:
            Whether anything was answered.
        """
        answered = False
        for form in stored_forms(self.run):
            try:
                async with get_client() as client:
                    response = await response_of(client, self.flow_run.id, form)
            except SERVER_ERRORS as error:
                _logger.warning("What was answered in the Prefect UI can't be read: %r", error)
                continue
            answered = self._take(form, response) or answered
        return answered

    def new_form(self, questions: tuple[Question, ...], *, suspended: bool) -> PersonForm:
        """Write down a form that asks some questions, under a key that no form had before.

        Raises:
            StorageError: It can't be written down.
        """
        form = form_of(questions, uuid4().hex, suspended=suspended)
        keep_form(self.run, form)
        return form

    async def put(
        self, client: PrefectClient, form: PersonForm, questions: tuple[Question, ...]
    ) -> None:
        """Give the server a form that a state names, with what was wrong with the last answer."""
        schema = schema_of(form, questions)
        plan = self._plan()
        text = description_of(
            questions,
            self._problems,
            self._plan_text or ("" if plan is None else plan_json(plan)),
            self.run.run_id,
            "" if plan is None else plan_table(plan),
        )
        await put_form(client, self.flow_run.id, form, schema, text)

    def _take(self, form: PersonForm, response: object) -> bool:
        """Write down what was answered in a form, and say whether anything was."""
        before, rules = self._plan(), rules_of(self.run)

        def read_plan(text: str) -> TaskIR | tuple[LineProblem, ...]:
            return () if before is None else plan_of_text(text, before, rules)

        read = read_response(form, response, before, read_plan, self.clock())
        problems = [*read.problems] if response is not None else []
        for answer in read.answers:
            try:
                Approvals(self.run).answer(answer)
            except (AnsweredError, RunDamagedError) as error:
                problems.append(error.problem)
        for problem in problems:
            # The person who answered looks at the flow run's logs.
            get_run_logger().warning("Of the form's answer: %s", visible(problem))
        self._problems, self._plan_text = tuple(problems), read.plan_text
        forget_form(self.run, form)
        return bool(read.answers)

    def _plan(self) -> TaskIR | None:
        with suppress(InputError):
            return current_plan(self.run)
        return None
