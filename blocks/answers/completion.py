"""A chat completion as servers really send it, put into the form of OpenAI's schema. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

__all__ = ["as_schema", "piece_as_schema"]

_MOST_TOKENS = 10**12
"""More than this no answer takes: it is no count."""
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
        body: The piece; it is no error.
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


def _counts(given: Mapping[str, Any]) -> dict[str, Any] | None:
    counts = {name: _count(given, (name, *others)) for name, others in _COUNTS}
    if not any(counts.values()):
        return None
    details = {
        name: {each: count for each in value if (count := _count(value, (each,)))}
        for name, value in given.items()
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
        given = cast("Mapping[str, Any]", function) if _is_map(function) else fields
        if not isinstance(name := given.get("name"), str):
            continue
        arguments: object = given.get("arguments")
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


def _count(given: Mapping[str, Any], names: tuple[str, ...]) -> int:
    for name in names:
        value: object = given.get(name)
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
