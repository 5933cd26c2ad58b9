"""Calls of tools as people and models are shown them: cut, and without secrets. Pure."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any, cast

from pydantic_ai.messages import (
    BinaryContent,
    FileUrl,
    ModelMessage,
    ModelResponse,
    ToolCallPart,
    ToolReturn,
    ToolReturnPart,
)
from pydantic_core import to_json

from ..store.attempt import ToolCall
from ..text import whole_characters, without_surrogates
from .journal import CallKey, Committed, JournalState, call_keys
from .masking import mask
from .pictures import picture_of

__all__ = [
    "arguments_of",
    "cut",
    "cut_ends",
    "earlier_calls",
    "ended_call",
    "result_text",
    "wanted_call",
]


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


_SHOWN = 400
"""Characters of arguments and of a result that people are shown."""
_LOOKED_AT = 12_000
"""Characters at each end that secrets are looked for in: a key that is cut in two is longer."""


def arguments_of(part: ToolCallPart) -> str:
    """Return a call's arguments as JSON."""
    if isinstance(part.args, str):
        return part.args
    arguments: dict[str, Any] = part.args or {}
    return json.dumps(arguments, ensure_ascii=False, default=str)


def wanted_call(
    key: CallKey, toolset: str, part: ToolCallPart, secrets: Collection[str]
) -> ToolCall:
    """Return a call that a model wants."""
    arguments = _shown(arguments_of(part), secrets)
    return ToolCall(ordinal=key.ordinal, tool=part.tool_name, toolset=toolset, arguments=arguments)


def ended_call(
    call: ToolCall, committed: Committed, outcome: str, secrets: Collection[str]
) -> ToolCall:
    """Return a call with what came of it."""
    return call.model_copy(
        update={
            "outcome": outcome,
            "result": _shown(committed.result, secrets),
            "characters": committed.characters,
            "seconds": committed.seconds,
        }
    )


def earlier_calls(
    state: JournalState, messages: Sequence[ModelMessage], secrets: Collection[str]
) -> dict[int, ToolCall]:
    """Return what an earlier process came to, by the calls' numbers: what its model has read.

    Args:
        messages: The conversation, whose calls and results have ids of our own.
    """
    read = {
        part.tool_call_id: part.model_response_str()
        for message in messages
        for part in message.parts
        if isinstance(part, ToolReturnPart)
    }
    answers = [message for message in messages if isinstance(message, ModelResponse)]
    found: dict[int, ToolCall] = {}
    for answer, keys in zip(answers, call_keys(messages), strict=True):
        for part, key in zip(answer.tool_calls, keys, strict=True):
            if (text := read.get(part.tool_call_id)) is not None:
                call = wanted_call(key, state.toolsets.get(key, ""), part, secrets)
                found[key.ordinal] = _read_before(call, state.committed, key, text, secrets)
    return found


def _read_before(
    call: ToolCall,
    committed: Mapping[CallKey, Committed],
    key: CallKey,
    text: str,
    secrets: Collection[str],
) -> ToolCall:
    if (ended := committed.get(key)) is not None:
        return ended_call(call, ended, "stored", secrets)
    # It was not made, and the model read why.
    return call.model_copy(update={"outcome": "refused", "result": _shown(text, secrets)})


def _shown(text: str, secrets: Collection[str]) -> str:
    """Mask and cut a text, and read no more of it than what is shown needs."""
    left_out = len(text) - 2 * _LOOKED_AT
    if left_out <= 0:
        return cut(mask(text, secrets), _SHOWN)
    # Each end is masked by itself, so that what lies between them hides nothing.
    return cut_ends(
        mask(text[:_LOOKED_AT], secrets), mask(text[-_LOOKED_AT:], secrets), left_out, _SHOWN
    )
