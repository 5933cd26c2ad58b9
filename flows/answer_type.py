"""The Python type of an answer, in addition to the schema that the run stores."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from pydantic import TypeAdapter, ValidationError

from ..gates.base import format_diagnostics
from ..gates.json_schema import check_schema
from ..untrusted.json_text import NoJsonError, describe, read_json

__all__ = ["answer_check", "answer_problem", "answered_as"]

# `answered_as` sets it around a call of the flow, whose parameters are JSON; a run that another
# process resumes is held to the schema alone.
_adapter: ContextVar[TypeAdapter[Any] | None] = ContextVar("answer_type", default=None)


@contextmanager
def answered_as(adapter: TypeAdapter[Any] | None) -> Generator[None]:
    """Have the runs inside answer with what this type takes; with None they may answer anything."""
    token = _adapter.set(adapter)
    try:
        yield
    finally:
        _adapter.reset(token)


def answer_check() -> Callable[[str], str]:
    """Return what says why a JSON text isn't of the type that is asked for; "" if it is."""
    adapter = _adapter.get()

    def check(text: str) -> str:
        if adapter is None:
            return ""
        try:
            adapter.validate_json(text)
        except ValidationError as error:
            return "; ".join(describe(error))
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
