"""How a flow's parameters come in: from Python, from JSON, or from a form."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, WithJsonSchema

from ..task_ir import TaskIR, parse_plan

__all__ = ["PlanParameter"]


def _plan(value: object) -> TaskIR | None:
    if isinstance(value, str) and not value.strip():
        return None
    if value is None or isinstance(value, TaskIR):
        return value
    return parse_plan(value)


PlanParameter = Annotated[
    TaskIR | None,
    BeforeValidator(_plan),
    WithJsonSchema(
        {
            # The form draws a code box for this kind of string alone, and sends its text.
            "anyOf": [
                {"title": "JSON", "type": "string", "format": "json-string"},
                {"title": "Object", "type": "object"},
                {"type": "null"},
            ]
        }
    ),
]
"""A plan as itself, as the objects of JSON or as JSON text; an empty text is no plan."""
