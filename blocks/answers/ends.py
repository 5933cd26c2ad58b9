"""How an answer ended: the reasons that providers send, and what each of them means. Pure."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import cast

from pydantic_ai.exceptions import ModelAPIError
from pydantic_ai.messages import FinishReason, ModelResponse
from pydantic_ai.models import ModelRequestParameters

__all__ = ["ENDS", "UNFINISHED", "end_of", "is_whole", "read_end"]

UNFINISHED = "unfinished"
"""Where the details of an answer say that its stream ended without saying why."""

ENDS: dict[FinishReason, tuple[str, ...]] = {
    "error": (
        *("error", "failed", "failure", "network_error", "server_error", "internal_error"),
        *("abort", "aborted", "cancel", "cancelled", "canceled", "timeout", "timed_out"),
        *("insufficient_system_resource", "unexpected_error", "engine_error", "load", "unload"),
        *("malformed_function_call", "malformed_response", "other_error", "incomplete"),
    ),
    "content_filter": (
        *("content_filter", "content_filtered", "contentfilter", "guardrail", "guardrails"),
        *("guardrail_intervened", "sensitive", "safety", "recitation", "blocklist", "spii"),
        *("prohibited_content", "image_safety", "refusal", "refused", "moderation", "blocked"),
        *("model_armor", "language", "policy_violation", "content_policy", "risk"),
    ),
    "length": (
        *("length", "max_tokens", "max_token", "max_length", "max_new_tokens", "token_limit"),
        *("max_output_tokens", "max_completion_tokens", "max_tokens_reached", "truncated"),
        *("model_length", "model_context_window_exceeded", "context_length", "limit"),
        *("error_limit", "max_output_reached", "output_limit"),
    ),
    "tool_call": ("tool_calls", "tool_call", "tool_use", "function_call", "function_calls"),
    "stop": (
        *("stop", "end_turn", "eos", "eos_token", "stop_sequence", "stop_token", "complete"),
        *("completed", "finished", "done", "finish", "success", "normal", "end"),
    ),
}
"""What providers send, by what it means. What stands here nowhere means nothing."""

_MEANINGS: dict[str, FinishReason] = {
    word: meaning for meaning, words in ENDS.items() for word in words
}
_BY_PARTS: tuple[tuple[FinishReason, re.Pattern[str]], ...] = (
    (
        "content_filter",
        re.compile(
            r"filter|safety|guardrails?|moderat|flagged|toxic|unsafe|prohibited|blocked|sensitive"
            r"|inappropriate|violation|policy"
        ),
    ),
    (
        "length",
        re.compile(
            r"length|(max|limit|exceed).{0,80}(token|output|context|prompt)"
            r"|(token|context).{0,80}(limit|exceed)"
        ),
    ),
    (
        "error",
        re.compile(
            r"(^|_)err(or)?(_|$)|fail|malformed|time_?out|abort|cancel|interrupt|terminated"
            r"|preempt|overload|unavailable|rate_limit|exception|disconnect"
        ),
    ),
    ("tool_call", re.compile(r"^(tool|function)_?(call|use)")),
    ("stop", re.compile(r"^(stop|eos|end_?of)(_|$)|^end_")),
)
"""What a reason means that is nobody's by its whole word: the first that it has a part of."""
_LONGEST = 200
_NEXT_WORD = re.compile(r"(?<=[a-z])(?=[A-Z])|[^A-Za-z0-9]+")


def end_of(raw: str) -> FinishReason | None:
    """Return what a provider's reason means; None where it is empty or nobody's."""
    word = _NEXT_WORD.sub("_", raw[:_LONGEST].strip().rpartition(".")[2]).strip("_").lower()
    word = word.removeprefix("finish_reason_")
    if word in _MEANINGS:
        return _MEANINGS[word]
    return next((end for end, parts in _BY_PARTS if parts.search(word)), None)


def read_end(answer: ModelResponse, asked: ModelRequestParameters) -> ModelResponse:
    """Return an answer with the end that its provider's reason means.

    Raises:
        ModelAPIError: The provider says that it is broken off, or its stream ended without a word
            and what was written isn't whole.
    """
    details = answer.provider_details or {}
    raw = str(details.get("finish_reason") or "")
    end = end_of(raw) or answer.finish_reason
    if answer.finish_reason == "content_filter":
        end = "content_filter"  # So it is with a refusal in a field, whatever the reason.
    if end == "error" and not is_whole(answer, asked):
        raise _broken(answer, f"it ended with {raw or 'error'!r}")
    if details.get(UNFINISHED) and not is_whole(answer, asked):
        raise _broken(answer, "its stream ended without saying why")
    if end == "content_filter" and not details.get("refusal"):
        by = f" ({raw})" if raw not in ("", "content_filter") else ""
        details = {**details, "refusal": f"its answer was filtered{by}"}
    end = "stop" if end == "error" else end
    return replace(answer, finish_reason=end, provider_details=details or None)


def is_whole(answer: ModelResponse, asked: ModelRequestParameters) -> bool:
    """Whether what was asked for in a form can be read: the arguments of its call, or its JSON."""
    outputs = {tool.name for tool in asked.output_tools}
    calls = [call for call in answer.tool_calls if call.tool_name in outputs]
    if calls:
        return all(_is_object(call.args_as_json_str()) for call in calls)
    if asked.output_object is None:
        return False
    text = (answer.text or "").strip()
    return _is_object(text[text.find("{") : text.rfind("}") + 1])


def _is_object(text: str) -> bool:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict) and "INVALID_JSON" not in cast("dict[str, object]", found)


def _broken(answer: ModelResponse, why: str) -> ModelAPIError:
    what = f"the answer broke off: {why}"
    return ModelAPIError(answer.model_name or "", what, body=what)
