"""From pydantic-ai's message history to plain chat turns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    SystemPromptPart,
    TextContent,
    TextPart,
    UserContent,
    UserPromptPart,
)

from ...errors import InputError
from .api import Message

__all__ = ["to_chat"]


def to_chat(messages: Sequence[ModelMessage], instructions: str = "") -> tuple[Message, ...]:
    """Turn a history into system, user and assistant turns; neighbours of one role are merged.

    Raises:
        InputError: It holds something that is not text, such as an image or a tool call.
    """
    turns = [Message("system", instructions)] if instructions else []
    for message in messages:
        if isinstance(message, ModelRequest):
            turns += [_request_turn(part) for part in message.parts]
        else:
            texts = [part.content for part in message.parts if isinstance(part, TextPart)]
            turns.append(Message("assistant", "".join(texts)))
    # Chat templates take a system turn only in the first place.
    system = [turn for turn in turns if turn.role == "system"]
    return tuple(_merge_neighbours([*system, *(turn for turn in turns if turn.role != "system")]))


def _request_turn(part: ModelRequestPart) -> Message:
    if isinstance(part, SystemPromptPart):
        return Message("system", part.content)
    if isinstance(part, UserPromptPart):
        content = part.content
        return Message("user", content if isinstance(content, str) else _texts(content))
    raise InputError(
        f"A local llama.cpp model can't read a {type(part).__name__}.",
        "Give that agent no tools, or another model.",
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
    last: Message | None = None
    for turn in turns:
        if not turn.content:
            continue
        if last is not None and last.role == turn.role:
            last = Message(last.role, f"{last.content}\n\n{turn.content}")
            continue
        if last is not None:
            yield last
        last = turn
    if last is not None:
        yield last
