"""The type that code asks of an answer, beside the schema that the run keeps."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from pydantic import TypeAdapter, ValidationError

from ...task_ir import describe

__all__ = ["answer_check", "answered_as"]

# `answered_as` sets it around a call of the flow, whose parameters are JSON; a run that another
# process resumes is held to the schema alone.
_adapter: ContextVar[TypeAdapter[Any] | None] = ContextVar("answer_type", default=None)


@contextmanager
def answered_as(adapter: TypeAdapter[Any]) -> Generator[None]:
    """Have the runs inside answer with what this type takes."""
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
        return ""

    return check
