"""What an answer took, estimated where its provider doesn't say it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ThinkingPart,
    ToolCallPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_core import to_json

from ...text import tokens_of

__all__ = ["ESTIMATED", "measured"]

ESTIMATED = "estimated_requests"
"""Where the details of a usage count the requests whose tokens are estimated."""


def measured(
    answer: ModelResponse, sent: Sequence[ModelMessage], asked: ModelRequestParameters
) -> ModelResponse:
    """Return an answer whose usage counts something: what is not there is estimated and marked.

    Args:
        answer: What a model wrote.
        sent: The conversation that it read.
        asked: The tools and the output that it was offered, which it reads as well.
    """
    usage = answer.usage
    written = _written(answer)
    lacks_input = usage.input_tokens <= 0
    lacks_output = usage.output_tokens <= 0 and bool(written)
    if not lacks_input and not lacks_output:
        return answer
    estimated = replace(
        usage,
        input_tokens=tokens_of(_read(sent, asked)) if lacks_input else usage.input_tokens,
        output_tokens=tokens_of(written) if lacks_output else max(0, usage.output_tokens),
        unmeasured_requests=0,
        details={**usage.details, ESTIMATED: 1},
    )
    return replace(answer, usage=estimated)


def _written(answer: ModelResponse) -> str:
    texts: list[str] = []
    for part in answer.parts:
        match part:
            case TextPart() | ThinkingPart():
                texts.append(part.content)
            case ToolCallPart():
                texts += (part.tool_name, part.args_as_json_str())
            case _:
                pass
    return "".join(texts)


def _read(sent: Sequence[ModelMessage], asked: ModelRequestParameters) -> str:
    texts: list[str] = []
    for message in sent:
        if isinstance(message, ModelRequest):
            texts += [_text(getattr(part, "content", "")) for part in message.parts]
        else:
            texts.append(_written(message))
    # Each request is sent with the instructions of the last one alone.
    requests = [message for message in sent if isinstance(message, ModelRequest)]
    texts.append((requests[-1].instructions if requests else None) or "")
    for tool in (*asked.function_tools, *asked.output_tools):
        texts += (tool.name, tool.description or "", _text(tool.parameters_json_schema))
    return "".join(texts)


def _text(content: object) -> str:
    return content if isinstance(content, str) else to_json(content, fallback=str).decode()
