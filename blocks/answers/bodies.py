"""What the bodies of providers' errors say, however deep they nest it. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import unescape
from typing import Any, cast

from ...text import count_in

__all__ = ["Codes", "codes_of", "is_page", "message_of"]

_DEEPEST = 8
"""Levels that are looked into: a body may nest itself in strings."""
_MOST_ITEMS = 5
"""Problems of a list that are said."""

_WORDS = (
    *("message", "Message", "msg", "error", "errors", "detail", "details", "error_message"),
    *("error_msg", "errorMessage", "status_msg", "statusText", "error_description", "base_resp"),
    *("description", "reason", "title", "body", "raw"),
)
"""Where a body has its words, the most telling first."""
_SAYS_NOTHING = re.compile(
    r"provider returned error|(upstream|internal|bad|unknown) ?(server)? ?(error|request)|error|",
    re.IGNORECASE,
)
"""Words of a gateway that only say that something was wrong: what is behind them says more."""
_CODES = (
    *("code", "type", "status", "status_code", "statusCode", "error_code", "error_type"),
    *("http_status", "httpStatus", "__type", "reason", "err_code", "errorCode"),
)
_INSIDE = ("error", "errors", "innererror", "base_resp", "metadata", "details", "detail", "message")


@dataclass(frozen=True, slots=True)
class Codes:
    """The codes of an error's body.

    Attributes:
        status: An HTTP status among them.
        names: All of them as words, in lower case.
    """

    status: int | None
    names: frozenset[str]


def message_of(body: object) -> str:
    """Return what an error's body says in words; "" where it says nothing.

    Args:
        body: What was sent: parsed, as text, or as bytes.
    """
    return " ".join(_said(body, 0).split())


def is_page(text: str) -> bool:
    """Say whether a text is a web page."""
    start = text[:500].lstrip("\ufeff \r\n\t").lower()
    return start.startswith(("<!doctype", "<html", "<head", "<body", "<?xml")) or "<html" in start


def codes_of(body: object) -> Codes:
    """Return the codes of an error's body, wherever they are."""
    found = [str(code) for code in _codes(body, 0)]
    statuses = [code for code in map(count_in, found) if code is not None and 400 <= code < 600]
    return Codes(statuses[0] if statuses else None, frozenset(code.lower() for code in found))


def _said(body: object, depth: int) -> str:
    if depth > _DEEPEST:
        return ""
    if isinstance(body, bytes | bytearray):
        body = bytes(body).decode(errors="replace")
    if isinstance(body, str):
        return _of_text(body, depth)
    if isinstance(body, Mapping):
        return _of_fields(cast("Mapping[str, Any]", body), depth)
    if isinstance(body, Sequence):
        items = cast("Sequence[object]", body)
        return "; ".join(_distinct(_said(each, depth + 1) for each in items[:_MOST_ITEMS]))
    return ""


def _of_text(text: str, depth: int) -> str:
    if is_page(text):
        return _of_page(text)
    if text.lstrip()[:1] in ("{", "["):
        try:
            inner: object = json.loads(text)
        except (ValueError, RecursionError):
            return text
        return _said(inner, depth + 1) or (text if inner else "")
    return text


def _of_page(text: str) -> str:
    for tag in ("title", "h1"):
        if found := re.search(rf"<{tag}[^<>]*+>([^<]{{1,200}})<", text, re.IGNORECASE):
            return f"a web page, {unescape(found[1]).strip()!r}"
    return "a web page"


def _of_fields(fields: Mapping[str, Any], depth: int) -> str:
    if isinstance(fields.get("msg"), str) and "loc" in fields:
        # A problem as pydantic lists it, which FastAPI and Mistral send.
        loc = fields["loc"]
        place: list[Any] = list(loc) if isinstance(loc, list | tuple) else [loc]  # pyright: ignore[reportUnknownArgumentType]
        return f"{'.'.join(map(str, place))}: {fields['msg']}"
    words = next(filter(None, (_said(fields.get(name), depth + 1) for name in _WORDS)), "")
    if _SAYS_NOTHING.fullmatch(words.strip(" .")):
        behind = _said(fields.get("metadata") or fields.get("innererror"), depth + 1)
        words = ": ".join(_distinct((words, behind)))
    if words:
        return words
    codes = [fields[name] for name in _CODES if isinstance(fields.get(name), str | int)]
    return str(codes[0]) if codes else ""


def _codes(body: object, depth: int) -> Iterable[str | int]:
    if depth > _DEEPEST:
        return
    if isinstance(body, str) and body.lstrip()[:1] in ("{", "["):
        try:
            body = json.loads(body)
        except (ValueError, RecursionError):
            return
    if isinstance(body, Mapping):
        fields = cast("Mapping[str, Any]", body)
        for name in _CODES:
            code: object = fields.get(name)
            if isinstance(code, str | int) and not isinstance(code, bool) and len(str(code)) < 80:
                yield code
        for name in (*_INSIDE, "raw"):
            yield from _codes(fields.get(name), depth + 1)
    elif isinstance(body, list):
        for item in cast("list[object]", body)[:_MOST_ITEMS]:
            yield from _codes(item, depth + 1)


def _distinct(texts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(text for text in texts if text))
