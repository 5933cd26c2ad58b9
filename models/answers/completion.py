"""A chat completion as servers really send it, put into the form of OpenAI's schema. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from pydantic_ai.exceptions import ModelAPIError
from pydantic_ai.messages import FinishReason, ModelResponse
from pydantic_ai.models import ModelRequestParameters

__all__ = ["ENDS", "UNFINISHED", "as_schema", "end_of", "is_whole", "piece_as_schema", "read_end"]


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


_MOST_TOKENS = 10**12
"""More than this no answer takes: it is not a count."""
_TEXT_FIELDS = ("content", "refusal")
_COUNTS = (
    ("prompt_tokens", ("input_tokens", "prompt_eval_count", "promptTokens")),
    ("completion_tokens", ("output_tokens", "eval_count", "completionTokens")),
)


def as_schema(body: Mapping[str, Any], model_name: str) -> dict[str, Any]:
    """Return a completion with all fields that the schema requires, each of its kind.

    Args:
        body: The completion; it has a choice.
        model_name: The model that was asked.
    """
    fields = dict(body)
    fields["id"] = _str(fields.get("id"))
    fields["model"] = _str(fields.get("model")) or model_name
    fields["object"] = "chat.completion"
    created: object = fields.get("created")
    fields["created"] = int(created) if isinstance(created, int | float) else 0
    fields["usage"] = _usage(fields)
    for name in ("service_tier", "system_fingerprint"):
        fields[name] = _str(fields.get(name)) or None
    for name in ("metadata", "moderation"):
        if not isinstance(fields.get(name), Mapping):
            fields.pop(name, None)
    fields["choices"] = [_choice(cast("Mapping[str, Any]", fields["choices"][0]))]
    return {name: value for name, value in fields.items() if name != "error"}


def piece_as_schema(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return a piece of a stream as the schema has it: the next part of what is written.

    Args:
        body: The piece; it is not an error.
    """
    created: object = body.get("created")
    return {
        **body,
        "id": _str(body.get("id")),
        "model": _str(body.get("model")),
        "object": "chat.completion.chunk",
        "created": created if isinstance(created, int | float) else 0,
        "usage": _usage(body),
        "service_tier": _str(body.get("service_tier")) or None,
        "moderation": None,
        "choices": [_piece(choice) for choice in _maps(body.get("choices"))],
    }


def _usage(body: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the counts of an answer, or of a piece; None where it has none that can be.

    Groq and Moonshot put those of a stream elsewhere.
    """
    places = (body, body.get("x_groq"), *_maps(body.get("choices"))[:1])
    for place in places:
        found: object = cast("Mapping[str, Any]", place).get("usage") if _is_map(place) else None
        if _is_map(found) and (usage := _counts(cast("Mapping[str, Any]", found))):
            return usage
    return None


def _counts(reported: Mapping[str, Any]) -> dict[str, Any] | None:
    counts = {name: _count(reported, (name, *others)) for name, others in _COUNTS}
    if not any(counts.values()):
        return None
    details = {
        name: {each: count for each in value if (count := _count(value, (each,)))}
        for name, value in reported.items()
        if name.endswith("_details") and _is_map(value)
    }
    return {**counts, "total_tokens": sum(counts.values()), **details}


def _choice(choice: Mapping[str, Any]) -> dict[str, Any]:
    message = _message(choice)
    for name in _TEXT_FIELDS:
        if not isinstance(message.get(name), str | list):
            message[name] = None
    message["role"] = "assistant"
    message["tool_calls"] = _calls(message.get("tool_calls"))
    for name in ("audio", "function_call"):
        message.pop(name, None)
    if not isinstance(message.get("annotations"), list):
        message.pop("annotations", None)
    index: object = choice.get("index")
    reason = _str(choice.get("finish_reason")) or _str(choice.get("stop_reason"))
    return {
        "index": index if isinstance(index, int) else 0,
        "finish_reason": reason or None,
        "message": message,
        "logprobs": None,
    }


def _piece(choice: Mapping[str, Any]) -> dict[str, Any]:
    delta = _message(choice)
    reason: object = choice.get("finish_reason")
    # What is sent as a whole message has no numbers for its calls.
    delta["tool_calls"] = [
        {**call, "index": call["index"] if isinstance(call.get("index"), int) else number}
        for number, call in enumerate(_maps(delta.get("tool_calls")))
        if _is_map(call.get("function"))
    ] or None
    return {"index": 0, "delta": delta, "finish_reason": _str(reason) or None, "logprobs": None}


def _message(choice: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a choice says, whether it is a whole message, a part of one, or a bare text."""
    found: object = choice.get("message") or choice.get("delta")
    if isinstance(found, str):
        return {"content": found}
    message = dict(cast("Mapping[str, Any]", found)) if _is_map(found) else {}
    if "content" not in message and "text" in choice:
        message["content"] = choice["text"]
    return message


def _calls(calls: object) -> list[dict[str, Any]] | None:
    if not isinstance(calls, list):
        return None
    read: list[dict[str, Any]] = []
    for number, call in enumerate(cast("list[object]", calls)):
        fields = cast("Mapping[str, Any]", call if _is_map(call) else {})
        function: object = fields.get("function")
        reported = cast("Mapping[str, Any]", function) if _is_map(function) else fields
        if not isinstance(name := reported.get("name"), str):
            continue
        arguments: object = reported.get("arguments")
        text = arguments if isinstance(arguments, str) else json.dumps(arguments or {})
        made = {"name": name, "arguments": text}
        id_ = _str(fields.get("id")) or f"call_{number}"
        read.append({**fields, "id": id_, "type": "function", "function": made})
    return read or None


def _is_map(value: object) -> bool:
    return isinstance(value, Mapping)


def _maps(value: object) -> list[Mapping[str, Any]]:
    items = cast("list[Any]", value) if isinstance(value, list) else []
    return [item for item in items if _is_map(item)]


def _count(reported: Mapping[str, Any], names: tuple[str, ...]) -> int:
    for name in names:
        value: object = reported.get(name)
        if isinstance(value, str) and value.isdecimal() and len(value) < 20:
            value = int(value)
        if not isinstance(value, int | float) or isinstance(value, bool):
            continue
        if 0 < value < _MOST_TOKENS:
            return int(value)
    return 0


def _str(value: object) -> str:
    """A text as it is, a number as one, and nothing else."""
    return str(value) if isinstance(value, str | int | float) and value is not True else ""
