"""From pydantic-ai's message history to chat turns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    RetryFeedbackPart,
    RetryPromptPart,  # pyright: ignore[reportDeprecated]
    SystemPromptPart,
    TextContent,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserContent,
    UserPromptPart,
)

from ...errors import InputError
from .api import LocalToolCall, Message

__all__ = ["ordered_turns", "to_chat"]


def to_chat(messages: Sequence[ModelMessage], instructions: str = "") -> tuple[Message, ...]:
    """Turn a history into system, user, assistant and tool turns.

    Raises:
        InputError: It holds something that is not text, such as an image.
    """
    turns = [Message("system", instructions)] if instructions else []
    for message in messages:
        if isinstance(message, ModelRequest):
            turns += [_request_turn(part) for part in message.parts]
        else:
            turns.append(_response_turn(message))
    return ordered_turns(turns)


def ordered_turns(turns: Iterable[Message]) -> tuple[Message, ...]:
    """Put the system's turns first, and merge neighbours of one role that hold text alone."""
    # Chat templates take a system turn only in the first place.
    ordered = sorted(turns, key=lambda turn: turn.role != "system")
    return tuple(_merge_neighbours(ordered))


def _response_turn(message: ModelResponse) -> Message:
    texts = [part.content for part in message.parts if isinstance(part, TextPart)]
    calls = tuple(
        LocalToolCall(part.tool_name, part.args_as_json_str(), part.tool_call_id)
        for part in message.parts
        if isinstance(part, ToolCallPart)
    )
    return Message("assistant", "".join(texts), calls)


def _request_turn(part: ModelRequestPart) -> Message:
    match part:
        case SystemPromptPart():
            return Message("system", part.content)
        case UserPromptPart(content=str(content)):
            return Message("user", content)
        case UserPromptPart(content=content):
            return Message("user", _texts(content))
        case ToolReturnPart():
            text = part.model_response_str()
            return Message("tool", text, call_id=part.tool_call_id, name=part.tool_name)
        case RetryPromptPart(tool_name=str(name)):  # pyright: ignore[reportDeprecated]
            return Message("tool", part.model_response(), call_id=part.tool_call_id, name=name)
        case RetryPromptPart() | RetryFeedbackPart():  # pyright: ignore[reportDeprecated]
            return Message("user", part.model_response())
        case _:
            raise InputError(
                f"A local llama.cpp model can't read a {type(part).__name__}.",
                "Give that agent another model.",
            )


def _texts(content: Iterable[UserContent]) -> str:
    texts: list[str] = []
    for item in content:
        if not isinstance(item, str | TextContent):
            raise InputError(
                f"A local llama.cpp model reads text only, not {type(item).__name__}.",
                "Give the step text, or another model.",
            )
        texts.append(item if isinstance(item, str) else item.content)
    return "\n\n".join(texts)


def _merge_neighbours(turns: Iterable[Message]) -> Iterable[Message]:
    alike: list[Message] = []
    for turn in turns:
        if not turn.content and _plain(turn):
            continue
        if alike and not (alike[0].role == turn.role and _plain(alike[0]) and _plain(turn)):
            yield _as_one(alike)
            alike = []
        alike.append(turn)
    if alike:
        yield _as_one(alike)


def _as_one(turns: Sequence[Message]) -> Message:
    first, *others = turns
    return replace(first, content="\n\n".join(turn.content for turn in turns)) if others else first


def _plain(turn: Message) -> bool:
    return not turn.calls and turn.role != "tool"
