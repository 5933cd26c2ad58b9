"""What a model reads of a tool's result. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from pydantic_ai.messages import BinaryContent, FileUrl, ToolReturn
from pydantic_core import to_json

from ...text import whole_characters, without_surrogates
from .pictures import picture_of

__all__ = ["cut", "cut_ends", "result_text"]


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
    return cut_ends(text, "", 0, characters)


def cut_ends(beginning: str, ending: str, between: int, characters: int) -> str:
    """Return what `cut` makes of a text of which the ends alone are at hand.

    Args:
        beginning: Where it begins.
        ending: Where it ends.
        between: How many characters lie between the two.
        characters: How many are shown.
    """
    text = beginning + ending
    if len(text) > characters:
        end = characters // 5
        between += len(text) - characters
        beginning, ending = text[: characters - end], text[len(text) - end :]
    note = f"\n[… {between:,} characters are left out here …]\n"
    return f"{beginning}{note}{ending}"


_NOT_DATA = (BinaryContent, FileUrl)


def _parts(value: object) -> Sequence[Any]:
    if value is None:
        return ()
    if isinstance(value, Sequence) and not isinstance(value, str | bytes | Mapping):
        return cast("Sequence[Any]", value)
    return (value,)
