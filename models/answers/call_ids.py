"""Ids of calls of tools: our own, by position. Pure, except for the model `WithOwnIds`.

Providers give each call the same id, none, the tool's name, or one that another provider refuses.
So an answer's calls get ids that follow from their position alone, and the ids that a provider gave
are only sent back to it: models such as Kimi K2 read a tool's name out of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    RetryPromptPart,  # pyright: ignore[reportDeprecated]
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings

from .reasoning import IN_TEXT

__all__ = [
    "WithOwnIds",
    "as_sent",
    "own_id",
    "with_own_history",
    "with_own_ids",
    "without_foreign_reasoning",
]


_ORIGINAL = "given_id"
"""Where a call's details say which id it was given, and by whom."""
_OWN = re.compile(r"c[0-9a-f]{8,}")
_GENERATED = "pyd_ai_"
"""What ids begin with that pydantic-ai makes where a provider gives none."""


def own_id(turn: int, position: int) -> str:
    """Return the id of a call by its answer's place among the answers, and its own place in it.

    Nine of a-z and 0-9: Mistral and the chat templates of its models take no other form, and every
    other provider takes this one.
    """
    return f"c{turn:04x}{position:04x}"


def with_own_ids(
    answer: ModelResponse, before: Sequence[ModelMessage], source: str = ""
) -> ModelResponse:
    """Return an answer whose calls have our ids; the same, if they have them already.

    Args:
        before: The conversation that it answers.
        source: Who gave the calls their ids; "" if nobody is sent them again.
    """
    turn = sum(isinstance(message, ModelResponse) for message in before)
    used = {part.tool_call_id for message in before for part in _calls_of(message)}
    while own_id(turn, 0) in used:
        turn += 1
    return _renamed(answer, turn, source)


def with_own_history(messages: Iterable[ModelMessage]) -> list[ModelMessage]:
    """Return a conversation whose calls and results have our ids, whatever they had before."""
    turn, found = 0, list[ModelMessage]()
    waiting: list[tuple[str, str]] = []
    for message in messages:
        if isinstance(message, ModelResponse):
            own = _renamed(message, turn)
            ids = zip(_calls_of(message), _calls_of(own), strict=True)
            waiting = [(old.tool_call_id, new.tool_call_id) for old, new in ids]
            found.append(own)
            turn += 1
        else:
            parts = [_answering(part, waiting) for part in message.parts]
            found.append(replace(message, parts=parts))
    return found


def as_sent(messages: Iterable[ModelMessage], to: str) -> list[ModelMessage]:
    """Return a conversation as a provider is sent it: with the ids that it gave itself.

    An id that it gave to several calls stays the first one's; the others keep ours.
    """
    names: dict[str, str] = {}
    used: set[str] = set()
    found: list[ModelMessage] = []
    for message in messages:
        if isinstance(message, ModelResponse):
            parts: list[ModelResponsePart] = []
            for part in message.parts:
                if isinstance(part, ToolCallPart):
                    original = _original_for(part, to)
                    name = original if original and original not in used else part.tool_call_id
                    used.add(name)
                    names[part.tool_call_id] = name
                    parts.append(_named(part, name, _without_original(part)))
                else:
                    parts.append(part)
            found.append(replace(message, parts=parts))
        else:
            found.append(replace(message, parts=[_returned(part, names) for part in message.parts]))
    return found


class WithOwnIds(WrapperModel):
    """A model whose calls have our ids, whatever model it is."""

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """Answer a request."""
        answer = await self.wrapped.request(messages, model_settings, model_request_parameters)
        return with_own_ids(answer, messages)


def _calls_of(message: ModelMessage) -> list[ToolCallPart]:
    return [part for part in message.parts if isinstance(part, ToolCallPart)]


def _renamed(answer: ModelResponse, turn: int, source: str = "") -> ModelResponse:
    position, parts = 0, list[ModelResponsePart]()
    for part in answer.parts:
        if isinstance(part, ToolCallPart):
            parts.append(_owned(part, own_id(turn, position), source))
            position += 1
        else:
            parts.append(part)
    return replace(answer, parts=parts) if position else answer


def _owned(part: ToolCallPart, name: str, source: str) -> ToolCallPart:
    original, details = part.tool_call_id, part.provider_details
    if original == name:
        return part
    if source and original and not original.startswith(_GENERATED) and not _OWN.fullmatch(original):
        details = {**(details or {}), _ORIGINAL: {"id": original, "by": source}}
    return _named(part, name, details)


def _named(part: ToolCallPart, name: str, details: dict[str, Any] | None) -> ToolCallPart:
    return replace(part, tool_call_id=name, provider_details=details)


def _original_for(part: ToolCallPart, to: str) -> str:
    """The id that a provider gave a call; "" if another one gave it, or none did."""
    original = (part.provider_details or {}).get(_ORIGINAL)
    if not isinstance(original, Mapping):
        return ""
    found = cast("Mapping[str, Any]", original)
    return str(found.get("id", "")) if found.get("by") == to else ""


def _without_original(part: ToolCallPart) -> dict[str, Any] | None:
    details = part.provider_details
    if not details or _ORIGINAL not in details:
        return details
    return {key: value for key, value in details.items() if key != _ORIGINAL} or None


def _answering(part: ModelRequestPart, waiting: list[tuple[str, str]]) -> ModelRequestPart:
    """A result under the id of its call, of those that wait for one; of equal ids the first."""
    if isinstance(part, ToolReturnPart | RetryPromptPart):  # pyright: ignore[reportDeprecated]
        for pair in waiting:
            if pair[0] == part.tool_call_id:
                waiting.remove(pair)
                return replace(part, tool_call_id=pair[1])
    return part


def _returned(part: ModelRequestPart, names: Mapping[str, str]) -> ModelRequestPart:
    if isinstance(part, ToolReturnPart | RetryPromptPart):  # pyright: ignore[reportDeprecated]
        return replace(part, tool_call_id=names.get(part.tool_call_id, part.tool_call_id))
    return part


def without_foreign_reasoning(messages: Sequence[ModelMessage], system: str) -> list[ModelMessage]:
    """Return a conversation with the reasoning alone that its provider has a field for.

    Reasoning that stood in a text, or is another provider's, would be sent as text; there are
    servers that refuse a text with the marks of reasoning in it.

    Args:
        messages: The conversation.
        system: What pydantic-ai calls the provider that it is sent to.
    """
    return [_cleared(message, system) for message in messages]


def _cleared(message: ModelMessage, system: str) -> ModelMessage:
    if not isinstance(message, ModelResponse):
        return message
    parts = [
        part
        for part in message.parts
        if not isinstance(part, ThinkingPart) or _has_field(part, system)
    ]
    # An answer of nothing but reasoning would be sent as nothing.
    if not parts or len(parts) == len(message.parts):
        return message
    return replace(message, parts=parts)


def _has_field(part: ThinkingPart, system: str) -> bool:
    is_own = part.provider_name == system
    return is_own and (part.signature is not None or part.id not in (None, IN_TEXT))
