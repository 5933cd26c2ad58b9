"""The form that a paused flow run has in the Prefect UI: its fields and its text. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from pydantic import Field

from ....approvals.question import Question
from ....frozen import Frozen
from ....result import excerpt
from ....text import one_line

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
    "PersonForm",
    "description_of",
    "form_of",
    "schema_of",
]

ALL_FIELD, WHY_FIELD, NAME_FIELD, PLAN_FIELD = "decision", "why", "name", "plan"
UNDECIDED, APPROVE, REJECT, EDIT = "not decided yet", "approve", "reject", "edit"
EACH, APPROVE_ALL, REJECT_ALL = "each by itself", "approve all", "reject all"
_TEXT_CHARS = 60_000
"""Characters that the texts of all questions may have together."""
_TITLE_CHARS, _LINE_CHARS = 120, 600
_WHY = "Why something is rejected; or what the next attempt of a failed step is told."
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
        plan_field: The field that decides about the plan; "" if the plan isn't asked about.
    """

    key: str
    suspended: bool
    fields: dict[str, str]
    subjects: dict[str, str] = Field(default_factory=dict[str, str])
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
        key=key, suspended=suspended, fields=fields, subjects=subjects, plan_field=plan_field
    )


def schema_of(form: PersonForm, questions: Sequence[Question]) -> dict[str, Any]:
    """Return the JSON Schema that the UI draws a form from; each default decides nothing."""
    asked = {question.id: question for question in questions}
    properties: dict[str, Any] = {}
    if len(form.fields) > 1:
        choices = (EACH, APPROVE_ALL, REJECT_ALL)
        properties[ALL_FIELD] = _choice("All that is not decided below", choices)
    for field, name in form.fields.items():
        edit = (EDIT,) if field == form.plan_field else ()
        question = asked[name]
        title = one_line(question.title, _TITLE_CHARS)
        properties[field] = _choice(title, (UNDECIDED, APPROVE, REJECT, *edit))
        if len(form.fields) > 1:
            # Where the fields need the window's height, the UI leaves the text above them none.
            properties[field]["description"] = one_line(question.text, _LINE_CHARS)
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
    questions: Sequence[Question], problems: Sequence[str] = (), plan: str = ""
) -> str:
    """Return what stands above the fields, as Markdown: all that is asked.

    Args:
        problems: What was wrong with the answer before.
        plan: The plan as text to copy, if it may be edited.
    """
    limit = _TEXT_CHARS // max(1, len(questions))
    wrong = ["**The last answer was not taken:**", "", *(f"- {problem}" for problem in problems)]
    parts = ["\n".join(wrong)] if problems else []
    for question in questions:
        title = f"### {one_line(question.title, _TITLE_CHARS)}"
        parts.append(f"{title}\n\n{excerpt(question.text, limit)}".rstrip())
    if plan and any(question.asked == "plan" for question in questions):
        parts.append(f"The plan, to copy and edit:\n\n{_fenced(excerpt(plan, _TEXT_CHARS))}")
    return "\n\n".join(parts)


def _fenced(text: str) -> str:
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}json\n{text}\n{fence}"


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
