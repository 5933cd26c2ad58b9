"""From the engine's answer to a response of pydantic-ai."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from pydantic_ai.messages import FinishReason, ModelResponsePart, TextPart, ToolCallPart
from pydantic_ai.usage import RequestUsage

from ....measures.clock import run_time
from ..api import GeneratedText
from ..tools.parse import ParsedAnswer, parse_answer

__all__ = ["details_of", "finish_of", "parts_of", "usage_of"]


def parts_of(done: GeneratedText, names: Collection[str]) -> list[ModelResponsePart]:
    """The text of an answer and the calls in it; an answer of nothing is an empty text."""
    parsed = parse_answer(done.text, names)
    calls = [ToolCallPart(call.name, call.arguments) for call in parsed.calls]
    return [TextPart(parsed.text), *calls] if parsed.text or not calls else [*calls]


def usage_of(done: GeneratedText) -> RequestUsage:
    """What an answer took, in tokens."""
    return RequestUsage(
        input_tokens=done.input_tokens,
        cache_read_tokens=done.cached_tokens,
        output_tokens=done.output_tokens,
    )


def finish_of(done: GeneratedText, parsed: ParsedAnswer | None = None) -> FinishReason:
    """Why an answer ended."""
    if done.finish == "aborted":
        return "error"
    if parsed and parsed.calls and done.finish == "stop":
        return "tool_call"
    return done.finish


def details_of(done: GeneratedText) -> dict[str, Any]:
    """When it was asked, seconds of waiting and of work, and what `watch` stopped it for."""
    aborted = {"aborted": done.why} if done.why else {}
    asked_at = run_time() - done.queue_s - done.duration_s
    timing = {"asked_at": asked_at, "queue_s": done.queue_s, "duration_s": done.duration_s}
    return {**timing, **aborted}
