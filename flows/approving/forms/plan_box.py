"""The plan in a form's box: written for a person to edit, and read again. Pure."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any, cast

from ....errors import InputError
from ....formats.json_text import NoJsonError, read_json
from ....task_ir import PlanRules, TaskIR
from ...edited.plan_file import LineProblem, plan_from, problems_of

__all__ = ["plan_json", "plan_of_text"]


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
