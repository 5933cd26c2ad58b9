"""The Python type of an answer, in addition to the schema that the run stores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pydantic import ValidationError

from ..gates.base import format_diagnostics
from ..gates.json_schema import check_schema
from ..untrusted.json_text import NoJsonError, describe, read_json
from .control import caller

__all__ = ["answer_check", "answer_problem"]


_NAMED = 20
"""Problems of a type that are named, as of a schema."""


def answer_check() -> Callable[[str], str]:
    """Return what says why a JSON text isn't of the type that is asked for; "" if it is."""
    adapter = caller().answer_type

    def check(text: str) -> str:
        if adapter is None:
            return ""
        try:
            adapter.validate_json(text)
        except ValidationError as error:
            problems = describe(error)
            more = len(problems) - _NAMED
            return "; ".join([*problems[:_NAMED], *([f"and {more:,} more"] if more > 0 else [])])
        except Exception as error:  # noqa: BLE001 - a validator's own, at what a model wrote
            return repr(error)
        return ""

    return check


def answer_problem(text: str, schema: dict[str, Any], check: Callable[[str], str]) -> str:
    """Say why a text isn't JSON that fits a schema and passes a check; "" if it is.

    It may take seconds, so that an event loop has a thread do it.
    """
    try:
        value = read_json(text, halves=True)
    except NoJsonError as error:
        return f"it is not valid JSON: {error}"
    found = check_schema(schema, value)
    return format_diagnostics(found.diagnostics) if found.diagnostics else check(text)
