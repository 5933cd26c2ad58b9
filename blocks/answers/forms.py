"""Forms of a request that a server refuses, and the next form that it is sent in. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

__all__ = ["AS_IT_IS", "Limit", "RequestForm", "next_form", "shaped"]

Chat = Sequence[Mapping[str, Any]]
Limit = Literal["max_tokens", "max_completion_tokens"]

_NO_SYSTEM = re.compile(
    r"system (?:role|message|prompt|instruction)s? (?:is |are )?not (?:supported|allowed|enabled)"
    r"|not support (?:the )?['\"`]?(?:system|developer)|support for system"
    r"|(?:developer|system) instruction is not enabled|without (?:a )?system"
    r"|(?:invalid|unsupported|unknown|unexpected)\b.{0,30}\brole\b.{0,20}(?:system|developer)"
    r"|(?:system|developer)['\"`]? (?:is )?(?:not (?:a )?(?:valid|supported)|unsupported|invalid)"
    r"|only user and assistant roles|(?:'user'|\"user\").{0,10}(?:'assistant'|\"assistant\")"
    r"|不支持.{0,6}system|system.{0,6}不支持",
    re.IGNORECASE,
)
_ONE_SYSTEM = re.compile(
    r"system message.{0,40}(?:beginning|first|once|start|only)|only (?:\w+ )?one system"
    r"|(?:more than one|multiple|several|duplicate|single) system|one system message"
    r"|alternat|consecutive (?:user|assistant|messages)|roles? must|same role|first message must"
    r"|\broles?\b.{0,60}\bmust be"
    r"|unexpected role|角色.{0,10}交替|交替",
    re.IGNORECASE,
)
_ABOUT_A_VALUE = re.compile(
    r"too (?:large|big|high)|at most|greater|less than|range|exceed|larger", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class RequestForm:
    """What a server takes.

    Attributes:
        system: Instructions as they are, as one system message with no role twice in a row, or
            within the first message of the user.
        limit: The field that bounds an answer; None leaves it to the model's profile.
        stream_options: Whether a stream is asked to say what it took.
        response_format: Whether JSON is asked for by a field.
    """

    system: Literal["as they are", "merged", "user's"] = "as they are"
    limit: Limit | None = None
    stream_options: bool = True
    response_format: bool = True


AS_IT_IS = RequestForm()


def next_form(words: str, form: RequestForm, chat: Chat, limit: Limit | None) -> RequestForm | None:
    """Return the form that a refused request is sent in again; None where it can't be helped.

    Args:
        words: What the server says.
        form: What it was sent in.
        chat: The messages that it was sent, before any form was given to them.
        limit: The field that it bounded the answer with, if it did.
    """
    lower = words.lower()
    if _NO_SYSTEM.search(words) and form.system != "user's":
        return replace(form, system="user's")
    if _ONE_SYSTEM.search(words) and form.system != "user's":
        merged = shaped(chat, replace(form, system="merged"))
        helps = form.system == "as they are" and merged != list(chat)
        return replace(form, system="merged" if helps else "user's")
    if "max_completion_tokens" in lower or "max_tokens" in lower:
        wanted = _limit(lower)
        return replace(form, limit=wanted) if limit and wanted not in (None, limit) else None
    if "stream_options" in lower and form.stream_options:
        return replace(form, stream_options=False)
    names_format = "response_format" in lower or "json_object" in lower or "json mode" in lower
    if names_format and form.response_format:
        return replace(form, response_format=False)
    return None


def shaped(chat: Chat, form: RequestForm) -> list[Mapping[str, Any]]:
    """Return the messages of a request in a form."""
    if form.system == "as they are":
        return list(chat)
    system = [message for message in chat if _is_system(message)]
    others = [message for message in chat if not _is_system(message)]
    instructions = "\n\n".join(_text(message) for message in system)
    if not instructions:
        return _joined(others)
    if form.system == "merged":
        return [{**system[0], "content": instructions}, *_joined(others)]
    return _joined([{"role": "user", "content": instructions}, *others])


def _limit(words: str) -> Limit | None:
    if _ABOUT_A_VALUE.search(words):
        return None
    if re.search(r"use ['\"`]?max_completion_tokens", words):
        return "max_completion_tokens"
    if "max_completion_tokens" in words:
        return "max_tokens"
    return "max_completion_tokens"


def _is_system(message: Mapping[str, Any]) -> bool:
    return message.get("role") in ("system", "developer")


def _joined(messages: Chat) -> list[Mapping[str, Any]]:
    """Join neighbours of the same role; calls of tools and their results stay apart."""
    joined: list[Mapping[str, Any]] = []
    for message in messages:
        last = joined[-1] if joined else None
        if last and _joins(last) and _joins(message) and last["role"] == message["role"]:
            joined[-1] = {**last, "content": _both(last.get("content"), message.get("content"))}
        else:
            joined.append(message)
    return joined


def _joins(message: Mapping[str, Any]) -> bool:
    return message.get("role") in ("user", "assistant") and not message.get("tool_calls")


def _both(first: object, second: object) -> object:
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}\n\n{second}"
    return [*_parts(first), *_parts(second)]


def _parts(content: object) -> list[object]:
    if isinstance(content, list):
        return cast("list[object]", content)
    return [{"type": "text", "text": content}] if content else []


def _text(message: Mapping[str, Any]) -> str:
    content: object = message.get("content")
    if isinstance(content, str):
        return content
    parts = cast("list[Mapping[str, Any]]", content) if isinstance(content, list) else []
    return "\n\n".join(str(part.get("text", "")) for part in parts)
