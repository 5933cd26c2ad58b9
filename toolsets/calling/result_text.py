"""What a model reads of a tool's result. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from pydantic_ai.messages import BinaryContent, FileUrl, ToolReturn
from pydantic_core import to_json

from ...text import whole_characters, without_surrogates
from .pictures import picture_of

__all__ = ["cut", "result_text"]


def result_text(value: object) -> str:
    """Return a tool's result as text: a text as it is, data as JSON, what is neither as a note."""
    match value:
        case None:
            return "Done; there is no result."
        case str():
            return whole_characters(value)
        case ToolReturn():
            parts = [value.return_value, *_parts(value.content)]
            return "\n".join(result_text(part) for part in parts if part is not None)
        case BinaryContent():
            size = f"{len(value.data):,} bytes"
            if (picture := picture_of(value)) is not None:
                return f"[{picture.identifier}: {picture.media_type}, {size}]"
            return f"[{value.media_type}, {size}, not shown]"
        case FileUrl():
            return value.url
        case _:
            parts = _parts(value)
            if any(isinstance(part, _NOT_DATA) for part in parts):
                return "\n".join(result_text(part) for part in parts)
            value = without_surrogates(value)
            return to_json(value, fallback=repr, inf_nan_mode="strings").decode()


def cut(text: str, characters: int) -> str:
    """Return a text that has at most about that many characters, and says what it lacks.

    The beginning stays, and a fifth of the room is the end's: results of programs end with what
    went wrong.
    """
    if len(text) <= characters:
        return text
    end = characters // 5
    left_out = len(text) - characters
    note = f"\n[… {left_out:,} characters are left out here …]\n"
    return f"{text[: characters - end]}{note}{text[len(text) - end :]}"


_NOT_DATA = (BinaryContent, FileUrl)


def _parts(value: object) -> Sequence[Any]:
    if value is None:
        return ()
    if isinstance(value, Sequence) and not isinstance(value, str | bytes | Mapping):
        return cast("Sequence[Any]", value)
    return (value,)
