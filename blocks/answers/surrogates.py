"""Half characters in what a provider answers, made U+FFFD before anything else sees them. Pure."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, cast

from pydantic_ai.messages import ModelResponse
from pydantic_ai.models import ModelRequestParameters

from ...text import whole_characters, without_surrogates

__all__ = ["make_whole"]


def make_whole(answer: ModelResponse, _: ModelRequestParameters) -> ModelResponse:
    """Return an answer whose texts can all be written as UTF-8."""
    parts = [_whole(part) for part in answer.parts]
    return cast("ModelResponse", _whole(replace(answer, parts=parts)))


def _whole(holder: Any) -> Any:
    """Return a part, or an answer, with whole characters in its texts and its data."""
    changed: dict[str, Any] = {}
    for field in fields(holder):
        value: Any = getattr(holder, field.name)
        if field.name == "parts" or not isinstance(value, str | dict):
            continue
        whole = whole_characters(value) if isinstance(value, str) else without_surrogates(value)
        if whole is not value:
            changed[field.name] = whole
    return replace(holder, **changed) if changed else holder
