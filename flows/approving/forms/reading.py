"""What a person's form comes to: answers to questions, and what is wrong with the rest. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from ....approvals.question import Answer, Verdict
from ....task_ir import TaskIR
from ....text import one_line
from ...edited.plan_file import LineProblem
from .fields import (
    ALL_FIELD,
    APPROVE,
    APPROVE_ALL,
    EACH,
    EDIT,
    NAME_FIELD,
    PLAN_FIELD,
    REJECT,
    REJECT_ALL,
    UNDECIDED,
    WHY_FIELD,
    PersonForm,
)

__all__ = ["FormReading", "ReadPlan", "read_response"]

FORM, API = "form", "api"
"""Which way answers came. The UI sends each field of the form, as it was or not; who asks the API
sends what they mean. It can be made to look like the other one, so it is no proof."""
_NAME_CHARS = 100
NOTHING = "Nothing was decided."

ReadPlan = Callable[[str], TaskIR | tuple[LineProblem, ...]]
"""Returns the plan that a text has, in the place of the run's, or what is wrong with it."""

_VERDICTS: Mapping[str, Verdict] = {APPROVE: "approved", REJECT: "rejected"}
_OF_ALL: Mapping[str, str] = {EACH: UNDECIDED, APPROVE_ALL: APPROVE, REJECT_ALL: REJECT}


@dataclass(frozen=True, slots=True)
class FormReading:
    """What a form came to.

    Attributes:
        answers: What was decided; what isn't among them is still open.
        problems: Why something was not taken, as sentences.
        plan_text: What was written as the plan, if it was not taken.
    """

    answers: tuple[Answer, ...] = ()
    problems: tuple[str, ...] = ()
    plan_text: str = ""


def read_response(
    form: PersonForm, response: object, before: TaskIR | None, read_plan: ReadPlan, at: float
) -> FormReading:
    """Read what came back of a form: None if nothing did.

    Only a decision in so many words is an answer. A default, a value that the form doesn't have,
    and a plan that can't be taken leave their question open.

    Args:
        before: The plan that the run has.
        at: When it is read, in seconds since the Unix epoch.
    """
    if not isinstance(response, dict):
        return FormReading(problems=(NOTHING,))
    given = cast("dict[str, Any]", response)
    why = _text_of(given, WHY_FIELD)
    name = one_line(_text_of(given, NAME_FIELD), _NAME_CHARS)
    way = FORM if {*form.fields, WHY_FIELD} <= given.keys() else API
    answers: list[Answer] = []
    problems: list[str] = []
    plan_text = ""
    for field, question in form.fields.items():
        choice = _choice_of(given, field)
        if choice == APPROVE and question in form.cut:
            if given.get(field) == APPROVE:
                problems.append(_not_whole(form, question))
            continue
        data: dict[str, Any] | None = None
        if field == form.plan_field:
            wrong, data = _edited(choice, given.get(PLAN_FIELD), before, read_plan)
            if wrong:
                problems += wrong
                plan_text = _text(given.get(PLAN_FIELD))
                continue
        if choice == EDIT and data is not None:
            verdict: Verdict = "edited"
        elif choice in _VERDICTS:
            verdict = _VERDICTS[choice]
        else:
            continue
        shown = form.subjects.get(question, "")
        answers.append(
            Answer(
                question=question,
                subject=shown,
                verdict=verdict,
                why=why,
                plan=data,
                by=way,
                name=name,
                at=at,
            )
        )
    if not answers and not problems:
        problems.append(NOTHING)
    return FormReading(tuple(answers), tuple(problems), plan_text)


def _text_of(given: Mapping[str, Any], field: str) -> str:
    text = given.get(field)
    return text.strip() if isinstance(text, str) else ""


def _not_whole(form: PersonForm, question: str) -> str:
    missing = f"{form.cut[question]:,} characters of {question} were not shown"
    return f"{missing}, so it was not approved. `prefect-swarm waiting` shows all of it."


def _choice_of(given: Mapping[str, Any], field: str) -> str:
    choice = given.get(field, UNDECIDED)
    if choice == UNDECIDED:
        choice = _OF_ALL.get(str(given.get(ALL_FIELD, EACH)), UNDECIDED)
    return str(choice)


def _edited(
    choice: str, plan: object, before: TaskIR | None, read_plan: ReadPlan
) -> tuple[tuple[str, ...], dict[str, Any] | None]:
    """Return what is wrong with a decision about the plan, and the edited plan as data, if any."""
    if choice == REJECT:
        return (), None
    text = _text(plan)
    found = read_plan(text) if text.strip() else before
    is_changed = found != before
    if choice == EDIT:
        if not is_changed:
            return ("The plan is as it was. Approve it, or change it.",), None
        if not isinstance(found, TaskIR):
            return tuple(f"The edited plan: {problem}" for problem in found or ()), None
        return (), _data(found, before)
    if is_changed:
        # Whoever changes a plan doesn't mean the plan that there was.
        return (f"The plan was changed, but the decision was {choice!r}, not {EDIT!r}.",), None
    return (), None


def _data(plan: TaskIR, before: TaskIR | None) -> dict[str, Any]:
    own = before.inputs if before is not None else {}
    inputs = {name: text for name, text in plan.inputs.items() if own.get(name) != text}
    return {**plan.model_dump(mode="json", exclude={"inputs"}), "inputs": inputs}


def _text(plan: object) -> str:
    if plan is None or isinstance(plan, str):
        return plan or ""
    return json.dumps(plan, indent=2, ensure_ascii=False)
