"""A run's forms: shown while it waits for a person, and their answers written down."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from uuid import uuid4

from prefect.client.orchestration import PrefectClient, get_client
from prefect.client.schemas.objects import FlowRun
from prefect.logging import get_run_logger

from ....approvals.question import Question
from ....approvals.store import Approvals
from ....errors import AnsweredError, InputError, RunDamagedError
from ....runs import RunFolder
from ....task_ir import TaskIR
from ....text import visible
from ...edit import current_plan, rules_of
from ...plan_file import LineProblem
from ...server_state.flow_run import this_flow_run
from .fields import (
    PersonForm,
    description_of,
    form_of,
    plan_json,
    plan_of_text,
    read_response,
    schema_of,
)
from .kept import forget_form, keep_form, kept_forms
from .server import SERVER_ERRORS, put_form, response_of

__all__ = [
    "FormDesk",
    "desk_of",
]

_logger = logging.getLogger("prefect_swarm.runs")


def desk_of(run: RunFolder) -> FormDesk:
    """Return what shows the forms of the flow run that this code runs in."""
    return FormDesk(run, this_flow_run())


@dataclass(slots=True)
class FormDesk:
    """Makes the forms of one flow run, and takes what comes back."""

    run: RunFolder
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
        for form in kept_forms(self.run):
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
        plan = self._plan_text or self._plan_json()
        text = description_of(questions, self._problems, plan, self.run.run_id)
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

    def _plan_json(self) -> str:
        plan = self._plan()
        return "" if plan is None else plan_json(plan)

    def _plan(self) -> TaskIR | None:
        with suppress(InputError):
            return current_plan(self.run)
        return None
