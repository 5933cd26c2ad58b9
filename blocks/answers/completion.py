"""A chat completion as servers really send it, put into the form of OpenAI's schema. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

__all__ = ["as_schema", "usage_as_schema"]

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
    fields["usage"] = usage_as_schema(fields.get("usage"))
    for name in ("service_tier", "system_fingerprint"):
        fields[name] = _str(fields.get(name)) or None
    for name in ("metadata", "moderation"):
        if not isinstance(fields.get(name), Mapping):
            fields.pop(name, None)
    fields["choices"] = [_choice(cast("Mapping[str, Any]", fields["choices"][0]))]
    return {name: value for name, value in fields.items() if name != "error"}


def usage_as_schema(usage: object) -> dict[str, Any] | None:
    """Return the counts of a usage; None where it has none that can be."""
    if not isinstance(usage, Mapping):
        return None
    given = cast("Mapping[str, Any]", usage)
    counts = {name: _count(given, (name, *others)) for name, others in _COUNTS}
    if not any(counts.values()):
        return None
    details: dict[str, Any] = {
        name: value for name, value in given.items() if name.endswith("_details") and _is_map(value)
    }
    return {**counts, "total_tokens": sum(counts.values()), **details}


def _choice(choice: Mapping[str, Any]) -> dict[str, Any]:
    found: object = choice.get("message") or choice.get("delta")
    message = dict(cast("Mapping[str, Any]", found)) if isinstance(found, Mapping) else {}
    if "content" not in message:
        message["content"] = choice.get("text")
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


def _count(given: Mapping[str, Any], names: tuple[str, ...]) -> int:
    for name in names:
        value: object = given.get(name)
        if isinstance(value, int | float) and value > 0:
            return int(value)
        if isinstance(value, str) and value.isdigit():
            return int(value)
    return 0


def _str(value: object) -> str:
    """A text as it is, a number as one, and nothing else."""
    return str(value) if isinstance(value, str | int | float) and value is not True else ""
