"""What the reader did to an answer, written into the answer. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, cast

from pydantic_ai.messages import ModelResponse

__all__ = ["MENDED", "REASONED", "UNMADE_CALL", "note", "noted", "notes"]

MENDED = "mended"
"""What was mended in an answer: a list of sentences without their full stop."""
REASONED = "reasoning"
"""By which marks the reasoning in a text was known."""
UNMADE_CALL = "unmade_call"
"""Why a text that is written as a call isn't made one."""


def noted(answer: ModelResponse, name: str, what: str | Iterable[str]) -> ModelResponse:
    """Return an answer with a note; a list goes on with what it has."""
    metadata: dict[str, Any] = {**(answer.metadata or {})}
    if isinstance(what, str):
        metadata[name] = what
    else:
        metadata[name] = [*metadata.get(name, ()), *what]
    return replace(answer, metadata=metadata)


def note(answer: ModelResponse, name: str) -> str:
    """Return the notes of a name in words; "" if an answer has none."""
    return "; ".join(notes(answer, name))


def notes(answer: ModelResponse, name: str) -> list[str]:
    """Return the notes of a name, one by one."""
    found: Any = (answer.metadata or {}).get(name)
    return list(map(str, cast("list[Any]", found) if isinstance(found, list) else [found or ""]))
