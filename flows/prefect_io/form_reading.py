"""Reading what came back of a form: what was decided, and what can't be taken. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from ...plan.documents import LineProblem
from ...plan.task_ir import TaskIR
from ...store.question import Answer, Verdict
from ...store.requested import Content, ContentError, filled_in, value_in
from ...text import one_line
from .form import (
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
"""Which way answers came. The UIs send the name and the reason, empty or not; who asks the API
sends what they mean. It can be made to look like the other one, so it is not proof."""
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
    form_values = cast("dict[str, Any]", response)
    why = _text_of(form_values, WHY_FIELD)
    name = one_line(_text_of(form_values, NAME_FIELD), _NAME_CHARS)
    decided = ALL_FIELD if len(form.fields) > 1 else next(iter(form.fields))
    way = FORM if {decided, NAME_FIELD, WHY_FIELD} <= form_values.keys() else API
    answers: list[Answer] = []
    problems: list[str] = []
    plan_text = ""
    for field, question in form.fields.items():
        choice = _choice_of(form_values, field)
        if choice == APPROVE and question in form.cut:
            if form_values.get(field) == APPROVE:
                problems.append(_not_whole(form, question))
            continue
        data: dict[str, Any] | None = None
        if field == form.plan_field:
            wrong, data = _edited(choice, form_values.get(PLAN_FIELD), before, read_plan)
            if wrong:
                problems += wrong
                plan_text = _text(form_values.get(PLAN_FIELD))
                continue
        content, wrong = _content(form, question, form_values) if choice == APPROVE else (None, ())
        if wrong:
            problems += wrong
            continue
        edited: Verdict | None = "edited" if choice == EDIT and data is not None else None
        if (verdict := edited or _VERDICTS.get(choice)) is None:
            continue
        shown = form.subjects.get(question, "")
        answers.append(
            Answer(
                question=question,
                subject=shown,
                verdict=verdict,
                why=why,
                plan=data,
                content=content,
                by=way,
                name=name,
                at=at,
            )
        )
    if not answers and not problems:
        problems.append(NOTHING)
    return FormReading(tuple(answers), tuple(problems), plan_text)


def _text_of(form_values: Mapping[str, Any], field: str) -> str:
    text = form_values.get(field)
    return text.strip() if isinstance(text, str) else ""


def _not_whole(form: PersonForm, question: str) -> str:
    missing = f"{form.cut[question]:,} characters of {question} were not shown"
    return f"{missing}, so it was not approved. `prefect-swarm waiting` shows all of it."


def _content(
    form: PersonForm, question: str, form_values: Mapping[str, Any]
) -> tuple[Content | None, tuple[str, ...]]:
    """Return what is filled in for a question, and what is wrong with it."""
    fields = {key: of.requested for key, of in form.inputs.items() if of.question == question}
    found: dict[str, object] = {}
    try:
        for key, field in fields.items():
            if (value := value_in(field, form_values.get(key))) is not None:
                found[field.name] = value
        return filled_in([*fields.values()], found) or None, ()
    except ContentError as error:
        return None, (f"{question} was not approved: {error}",)


def _choice_of(form_values: Mapping[str, Any], field: str) -> str:
    choice = form_values.get(field)
    if choice is None:
        choice = _OF_ALL.get(str(form_values.get(ALL_FIELD, EACH)), UNDECIDED)
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
        # A changed plan is not an approval of the old one.
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
