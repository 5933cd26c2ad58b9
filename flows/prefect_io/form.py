"""The form of a waiting flow run in the Prefect UI: its fields, and the text above them."""

from __future__ import annotations

import html
import json
import logging
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, cast

from pydantic import Field

from ...data_types import Frozen, specified
from ...errors import InputError, RunDamagedError
from ...plan.documents import LineProblem, plan_from, problems_of
from ...plan.procedure_steps import resolve, resolve_edit
from ...plan.task_ir import PlanRules, TaskIR
from ...report.markdown import plain, written
from ...report.markdown import table as markdown_table
from ...store.attempt import excerpt
from ...store.procedures import find_procedure
from ...store.protocol import RunStore
from ...store.question import MOST_SHOWN, Asked, Question
from ...store.requested import RequestedField
from ...text import code_span, escaped, one_line, plural
from ...untrusted.json_text import NoJsonError, read_json

__all__ = [
    "ALL_FIELD",
    "APPROVE",
    "APPROVE_ALL",
    "EACH",
    "EDIT",
    "INPUT_FIELD",
    "NAME_FIELD",
    "PLAN_FIELD",
    "REJECT",
    "REJECT_ALL",
    "UNDECIDED",
    "WHY_FIELD",
    "FormInput",
    "PersonForm",
    "description_of",
    "forget_form",
    "form_of",
    "is_suspended",
    "keep_form",
    "plan_json",
    "plan_of_text",
    "plan_table",
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
            found = plan_from(cast("dict[str, Any]", data), before, rules)
            return resolve(found, find_procedure, rules)
    return resolve_edit(problems_of(text, before, rules), find_procedure, rules)


ALL_FIELD, WHY_FIELD, NAME_FIELD, PLAN_FIELD = "decision", "why", "name", "plan"
INPUT_FIELD = "input"
UNDECIDED, APPROVE, REJECT, EDIT = "not decided yet", "approve", "reject", "edit"
EACH, APPROVE_ALL, REJECT_ALL = "each by itself", "approve all", "reject all"
_TITLE_CHARS, _CUT_CHARS, _CELL_CHARS, _MOST_ROWS = 120, 600, 60, 100
_FENCE = re.compile("`{3,}(?:json)?")
_WHY = "Why it is rejected, or a hint for the next attempt"
_NAME = "Who decides"
_PLAN = "The edited plan, as JSON or YAML"
_ALL = f"Of all that is asked; choose {EACH} to decide about each below."
_MEANINGS = {APPROVE: "it goes on", REJECT: "it is not done", EDIT: "the edited plan runs"}
_SENTENCES: Mapping[Asked, str] = {
    "items": "Is this step to be done for all these items?",
    "plan": "Is this plan to run?",
    "turn": "Is the orchestrator to change the plan so?",
    "step": "Is this step to begin?",
    "call": "Is this call to be made?",
    "uncertain_call": "Is this call to be made, which may have been made already?",
    "elicitation": "Is the server of this tool to be answered?",
    "failure": "Is this step to be tried once more?",
}


class FormInput(Frozen):
    """A field of a form in which something is filled in for a question, by the question's id."""

    question: str
    requested: RequestedField


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
        inputs: What is filled in for servers that ask, by the fields that take it.
    """

    key: str
    suspended: bool
    fields: dict[str, str]
    subjects: dict[str, str] = Field(default_factory=dict[str, str])
    cut: dict[str, int] = Field(default_factory=dict[str, int])
    plan_field: str = ""
    inputs: dict[str, FormInput] = Field(default_factory=dict[str, "FormInput"])

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
        inputs=_inputs(fields, questions),
    )


def _inputs(fields: Mapping[str, str], questions: Sequence[Question]) -> dict[str, FormInput]:
    found: dict[str, FormInput] = {}
    for field, question in zip(fields, questions, strict=True):
        before = INPUT_FIELD if len(fields) == 1 else field.replace(ALL_FIELD, INPUT_FIELD, 1)
        names = _field_names((each.name for each in question.fields), before)
        for name, each in zip(names, question.fields, strict=True):
            found[name] = FormInput(question=question.id, requested=each)
    return found


def schema_of(form: PersonForm, questions: Sequence[Question]) -> dict[str, Any]:
    """Return the JSON Schema that the UI draws a form from, and that the server holds answers to.

    No decision has a default, and each is required: an answer without one is refused at once, and
    the run goes on waiting.
    """
    asked = {question.id: question for question in questions}
    is_one = len(form.fields) == 1
    properties: dict[str, Any] = {}
    if not is_one:
        some = () if len(form.cut) == len(form.fields) else (APPROVE_ALL,)
        choices = (*some, REJECT_ALL, EACH)
        properties[ALL_FIELD] = _choice("Decision", choices, _ALL)
    for field, name in form.fields.items():
        edit = (EDIT,) if field == form.plan_field else ()
        question = asked[name]
        approve = () if name in form.cut else (APPROVE,)
        choices = (*approve, REJECT, *edit)
        if is_one:
            meaning = "; ".join(f"{choice}: {_MEANINGS[choice]}" for choice in choices)
            properties[field] = _choice("Decision", choices, f"{meaning}.")
        else:
            # The older UI draws it as Markdown, the newer one as it is.
            properties[field] = _choice(
                one_line(question.title, _TITLE_CHARS),
                (*choices, UNDECIDED),
                code_span(_bare(_shown(question, form.cut))),
            )
        properties |= {
            key: _input(each.requested)
            for key, each in form.inputs.items()
            if each.question == name
        }
    # The UIs send a default, and so show that an answer came from a form.
    # Each has but a title: what the fields take of the window's height, the text above them lacks.
    properties[NAME_FIELD] = {"title": _NAME, "type": "string", "default": ""}
    properties[WHY_FIELD] = {"title": _WHY, "type": "string", "default": ""}
    if form.plan_field:
        properties[PLAN_FIELD] = {
            "title": _PLAN,
            # The UIs draw a code box for this kind of string, and may send what it holds.
            "type": "string",
            "format": "json-string",
        }
    numbered = {
        name: {**field, "position": n} for n, (name, field) in enumerate(properties.items())
    }
    conditions = [*_conditions(form)]
    return {
        "title": "Decisions",
        "type": "object",
        "properties": numbered,
        "required": [next(iter(properties))],
        "additionalProperties": False,
        # JSON Schema has no empty one.
        **({"allOf": conditions} if conditions else {}),
    }


def _conditions(form: PersonForm) -> Iterator[dict[str, Any]]:
    """Yield what else an answer needs that decides something."""
    for field, name in form.fields.items():
        needed = [
            key
            for key, each in form.inputs.items()
            if each.question == name and each.requested.required and each.requested.default is None
        ]
        if needed:
            yield _where(field, APPROVE, {"required": needed})
    if form.plan_field:
        yield _where(form.plan_field, EDIT, {"required": [PLAN_FIELD]})
    if len(form.fields) > 1:
        undecided = {field: {"const": UNDECIDED} for field in form.fields}
        yield _where(ALL_FIELD, EACH, {"required": [*form.fields]})
        yield _where(ALL_FIELD, EACH, {"not": {"properties": undecided}})


def _where(field: str, value: str, then: dict[str, Any]) -> dict[str, Any]:
    return {"if": {"properties": {field: {"const": value}}, "required": [field]}, "then": then}


def description_of(
    questions: Sequence[Question],
    problems: Sequence[str] = (),
    plan: str = "",
    run_id: str = "RUN",
    table: str = "",
) -> str:
    """Return what stands above the fields, as Markdown: all that is asked.

    Args:
        problems: What was wrong with the answer before.
        plan: The plan as text to copy, if it may be edited.
        run_id: The run, for the command that shows a question whole.
        table: The steps of the plan, by `plan_table`.
    """
    lines = (f"- {plain(problem, _CUT_CHARS)}" for problem in problems)
    cut = _cut(questions)
    parts = ["\n".join(["**The last answer was not taken:**", "", *lines])] if problems else []
    for question in questions:
        parts.append(f"### {_SENTENCES[question.asked]}")
        is_table = bool(table) and question.asked == "plan"
        parts.append(table if is_table else f"**{plain(question.title, _TITLE_CHARS)}**")
        # A question may have come with the folder of somebody else's run.
        parts.append(written(_shown(question, cut)))
        if missing := cut.get(question.id):
            parts.append(
                f"**{missing:,} characters are not shown here, so it can't be approved here.** "
                f"Read all of it: {code_span(f'prefect-swarm waiting {run_id} {question.id}')}"
            )
    if plan and any(question.asked == "plan" for question in questions):
        parts.append(_folded("The plan as JSON, to copy and edit", excerpt(plan, MOST_SHOWN)))
    return "\n\n".join(filter(None, parts))


def plan_table(plan: TaskIR) -> str:
    """Write the steps of a plan as a Markdown table: who does what after which."""
    tiers = {agent.name: agent.tier for agent in plan.agents}
    shown = plan.steps[:_MOST_ROWS]
    rows = [
        (
            step.id,
            plain(f"{step.agent} ({tiers[step.agent]})", _CELL_CHARS) if step.agent else "",
            ", ".join(step.depends_on),
            plain(step.prompt, _CELL_CHARS),
        )
        for step in shown
    ]
    text = markdown_table(("Step", "Who", "After", "Does"), rows)
    more = len(plan.steps) - len(shown)
    return f"{text}\n\nand {plural(more, 'step')} more" if more else text


def _folded(title: str, text: str) -> str:
    """Write a text that is shown when its title is clicked.

    Both UIs take it for one piece of HTML if it has no line of its own, and what stands in such a
    piece is no Markdown.
    """
    words = html.escape(escaped(text)).replace("\n", "&#10;")
    return f"<details><summary>{title}</summary><pre>{words}</pre></details>"


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


def _choice(title: str, choices: Sequence[str], description: str) -> dict[str, Any]:
    return {"title": title, "type": "string", "enum": [*choices], "description": description}


def _input(field: RequestedField) -> dict[str, Any]:
    """Return the schema of what is filled in; lengths of texts are checked when it is read."""
    drawn: dict[str, Any] = {"title": field.label}
    drawn["description"] = code_span(one_line(field.prompt, _CUT_CHARS))
    match field.kind:
        case "boolean":
            # A box that nobody ticks sends nothing.
            drawn |= {"type": "string", "enum": ["yes", "no"]}
        case "choice":
            drawn |= {"type": "string", "enum": [*field.shown]}
        case "choices":
            items = {"type": "string", "enum": [*field.shown]}
            drawn |= {"type": "array", "items": items, "uniqueItems": True}
        case "number" | "integer":
            bounds = {"minimum": field.least, "maximum": field.most}
            drawn |= {"type": field.kind, **specified(**bounds)}
        case _:
            drawn |= {"type": "string"}
    return drawn


def _field_names(names: Iterable[str], before: str = ALL_FIELD) -> list[str]:
    """Return a name of letters, digits and `_` for each question, all different."""
    found: list[str] = []
    for name in names:
        field = base = f"{before}_{re.sub(r'[^A-Za-z0-9]+', '_', name).strip('_')}"
        number = 2
        while field in found:
            field, number = f"{base}_{number}", number + 1
        found.append(field)
    return found


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
