"""What of earlier answers is sent back to a model. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pydantic_ai.messages import ModelMessage, ModelResponse, ThinkingPart

from .reasoning import IN_TEXT

__all__ = ["without_foreign_reasoning"]


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
