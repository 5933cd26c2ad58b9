"""The form of a waiting flow run in the Prefect UI: its fields, its text, and reading it."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, cast

from pydantic import Field

from ...data_types import Frozen
from ...errors import InputError, RunDamagedError
from ...plan.documents import LineProblem, plan_from, problems_of
from ...plan.task_ir import PlanRules, TaskIR
from ...report.markdown import plain, written
from ...store.attempt import excerpt
from ...store.protocol import RunStore
from ...store.question import MOST_SHOWN, Answer, Question, Verdict
from ...text import code_span, escaped, fenced, one_line
from ...untrusted.json_text import NoJsonError, read_json

__all__ = [
    "ALL_FIELD",
    "APPROVE",
    "APPROVE_ALL",
    "EACH",
    "EDIT",
    "NAME_FIELD",
    "PLAN_FIELD",
    "REJECT",
    "REJECT_ALL",
    "UNDECIDED",
    "WHY_FIELD",
    "FormReading",
    "PersonForm",
    "ReadPlan",
    "description_of",
    "forget_form",
    "form_of",
    "is_suspended",
    "keep_form",
    "plan_json",
    "plan_of_text",
    "read_response",
    "schema_of",
    "stored_forms",
]


def plan_json(plan: TaskIR) -> str:
    """Write a plan as JSON, without the texts of its inputs, which stay."""
    data = plan.model_dump(mode="json", exclude_defaults=True, exclude={"inputs"}, by_alias=True)
    return json.dumps(data, indent=2, ensure_ascii=False)


def plan_of_text(text: str, before: TaskIR, rules: PlanRules) -> TaskIR | tuple[LineProblem, ...]:
    """Return the plan that a text has as JSON or YAML, or what is wrong with it by its lines."""
    # Not all JSON is YAML: a reader of YAML refuses some characters.
    with suppress(NoJsonError, InputError):
        data: object = read_json(text, halves=True)
        if isinstance(data, dict):
            return plan_from(cast("dict[str, Any]", data), before, rules)
    return problems_of(text, before, rules)


ALL_FIELD, WHY_FIELD, NAME_FIELD, PLAN_FIELD = "decision", "why", "name", "plan"
UNDECIDED, APPROVE, REJECT, EDIT = "not decided yet", "approve", "reject", "edit"
EACH, APPROVE_ALL, REJECT_ALL = "each by itself", "approve all", "reject all"
_TITLE_CHARS, _CUT_CHARS = 120, 600
_FENCE = re.compile("`{3,}(?:json)?")
_WHY = "Why something is rejected; or what to tell the next attempt of a failed step."
_NAME = "Who decides; it is kept with the decision. Nothing checks it."
_PLAN = "The plan as JSON, for the decision 'edit' alone. YAML is taken, too."


class PersonForm(Frozen):
    """A form that was shown.

    Attributes:
        key: Its own among all forms: letters, digits and dashes.
        suspended: Whether its flow run is suspended, so that a worker goes on with it.
        fields: The questions' ids by the fields that decide them.
        subjects: What exactly was shown, by the questions' ids; nothing of what an older version
            showed.
        cut: Characters that were not shown, by the ids of the questions that the form has no room
            for. They can't be approved in it.
        plan_field: The field that decides about the plan; "" if the plan isn't asked about.
    """

    key: str
    suspended: bool
    fields: dict[str, str]
    subjects: dict[str, str] = Field(default_factory=dict[str, str])
    cut: dict[str, int] = Field(default_factory=dict[str, int])
    plan_field: str = ""

    @property
    def base(self) -> str:
        """What Prefect's keys of this form begin with."""
        return f"{'suspended' if self.suspended else 'paused'}-{self.key}"

    @property
    def keyset(self) -> dict[str, str]:
        """Prefect's keys of the parts of this form."""
        return {part: f"{self.base}-{part}" for part in ("description", "response", "schema")}


def form_of(questions: Sequence[Question], key: str, *, suspended: bool) -> PersonForm:
    """Return the form that asks some questions."""
    names = _field_names(question.id for question in questions)
    fields = dict(zip(names, (question.id for question in questions), strict=True))
    asked = zip(names, questions, strict=True)
    plan_field = next((name for name, question in asked if question.asked == "plan"), "")
    subjects = {question.id: question.subject for question in questions}
    return PersonForm(
        key=key,
        suspended=suspended,
        fields=fields,
        subjects=subjects,
        cut=_cut(questions),
        plan_field=plan_field,
    )


def schema_of(form: PersonForm, questions: Sequence[Question]) -> dict[str, Any]:
    """Return the JSON Schema that the UI draws a form from; each default decides nothing."""
    asked = {question.id: question for question in questions}
    properties: dict[str, Any] = {}
    if len(form.fields) > 1:
        some = () if len(form.cut) == len(form.fields) else (APPROVE_ALL,)
        choices = (EACH, *some, REJECT_ALL)
        properties[ALL_FIELD] = _choice("All that is not decided below", choices)
    for field, name in form.fields.items():
        edit = (EDIT,) if field == form.plan_field else ()
        question = asked[name]
        title = one_line(question.title, _TITLE_CHARS)
        approve = () if name in form.cut else (APPROVE,)
        properties[field] = _choice(title, (UNDECIDED, *approve, REJECT, *edit))
        if len(form.fields) > 1:
            # Where the fields need the window's height, the UI leaves the text above them none.
            # The older UI draws it as Markdown, the newer one as it is.
            properties[field]["description"] = code_span(_bare(_shown(question, form.cut)))
    properties[WHY_FIELD] = {
        "title": "Why",
        "type": "string",
        "default": "",
        "description": _WHY,
    }
    properties[NAME_FIELD] = {
        "title": "Your name",
        "type": "string",
        "default": "",
        "description": _NAME,
    }
    if form.plan_field:
        properties[PLAN_FIELD] = {
            "title": "Edited plan",
            "description": _PLAN,
            "default": "",
            # The UI draws a code box for this kind of string alone, and may send what it holds.
            "anyOf": [
                {"title": "JSON", "type": "string", "format": "json-string"},
                {"title": "Object", "type": "object"},
                {"type": "null"},
            ],
        }
    numbered = {
        name: {**field, "position": n} for n, (name, field) in enumerate(properties.items())
    }
    return {
        "title": "Decisions",
        "type": "object",
        "properties": numbered,
        "additionalProperties": False,
    }


def description_of(
    questions: Sequence[Question],
    problems: Sequence[str] = (),
    plan: str = "",
    run_id: str = "RUN",
) -> str:
    """Return what stands above the fields, as Markdown: all that is asked.

    Args:
        problems: What was wrong with the answer before.
        plan: The plan as text to copy, if it may be edited.
        run_id: The run, for the command that shows a question whole.
    """
    lines = (f"- {plain(problem, _CUT_CHARS)}" for problem in problems)
    cut = _cut(questions)
    parts = ["\n".join(["**The last answer was not taken:**", "", *lines])] if problems else []
    for question in questions:
        title = f"### {plain(question.title, _TITLE_CHARS)}"
        # A question may have come with the folder of somebody else's run.
        parts.append(f"{title}\n\n{written(_shown(question, cut))}".rstrip())
        if missing := cut.get(question.id):
            parts.append(
                f"**{missing:,} characters are not shown here, so it can't be approved here.** "
                f"Read all of it: {code_span(f'prefect-swarm waiting {run_id} {question.id}')}"
            )
    if plan and any(question.asked == "plan" for question in questions):
        whole = fenced(escaped(excerpt(plan, MOST_SHOWN)), "json")
        parts.append(f"The plan, to copy and edit:\n\n{whole}")
    return "\n\n".join(parts)


def _cut(questions: Sequence[Question]) -> dict[str, int]:
    """Return how much of which questions there is no room for; those that come first go first."""
    room, cut = MOST_SHOWN, dict[str, int]()
    for question in questions:
        if len(question.text) > room or question.left_out:
            cut[question.id] = max(0, len(question.text) - _CUT_CHARS) + question.left_out
        else:
            room -= len(question.text)
    return cut


def _shown(question: Question, cut: Mapping[str, int]) -> str:
    return question.text[:_CUT_CHARS] if question.id in cut else question.text


def _bare(text: str) -> str:
    """Return a text without the lines that begin and end its blocks of code."""
    return "\n".join(line for line in text.split("\n") if not _FENCE.fullmatch(line))


def _choice(title: str, choices: Sequence[str]) -> dict[str, Any]:
    return {"title": title, "type": "string", "enum": [*choices], "default": choices[0]}


def _field_names(names: Iterable[str]) -> list[str]:
    """Return a name of letters, digits and `_` for each question, all different."""
    found: list[str] = []
    for name in names:
        field = base = f"{ALL_FIELD}_{re.sub(r'[^A-Za-z0-9]+', '_', name).strip('_')}"
        number = 2
        while field in found:
            field, number = f"{base}_{number}", number + 1
        found.append(field)
    return found


FORM, API = "form", "api"
"""Which way answers came. The UI sends each field of the form, as it was or not; who asks the API
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
    way = FORM if {*form.fields, WHY_FIELD} <= form_values.keys() else API
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


def _text_of(form_values: Mapping[str, Any], field: str) -> str:
    text = form_values.get(field)
    return text.strip() if isinstance(text, str) else ""


def _not_whole(form: PersonForm, question: str) -> str:
    missing = f"{form.cut[question]:,} characters of {question} were not shown"
    return f"{missing}, so it was not approved. `prefect-swarm waiting` shows all of it."


def _choice_of(form_values: Mapping[str, Any], field: str) -> str:
    choice = form_values.get(field, UNDECIDED)
    if choice == UNDECIDED:
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


_logger = logging.getLogger("prefect_swarm.runs")


def keep_form(run: RunStore, form: PersonForm) -> None:
    """Write a form down, before anybody sees it.

    Raises:
        StorageError: It can't be written.
    """
    run.write_record("form", form, form.key)


def stored_forms(run: RunStore) -> tuple[PersonForm, ...]:
    """Return the forms that may have answers; a damaged file is passed over.

    Raises:
        RunDamagedError: They can't be listed.
    """
    return run.records("form", PersonForm, lambda form: form.key)


def forget_form(run: RunStore, form: PersonForm) -> None:
    """Forget a form whose answers are written down, or that can't be answered any more."""
    run.remove_record("form", form.key)


def is_suspended(run: RunStore) -> bool:
    """Say whether the run may be suspended, so that Prefect has a worker go on with it."""
    with suppress(RunDamagedError):
        return any(form.suspended for form in stored_forms(run))
    return False
