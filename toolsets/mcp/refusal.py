"""What a server at an address says where it refuses a request, and what to do about it. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, cast

from ...text import one_line

__all__ = ["Credentials", "refusal_text"]

_MOST = 200
_TAGS = re.compile(r"<(script|style)\b.*?(?:</\1>|\Z)|<[^<>]*+>", re.DOTALL | re.IGNORECASE)
_PARAMETER = re.compile(r'\b(\w++)=(?:"([^"]*)"|([^\s",]+))')
_SAYS = ("error_description", "message", "detail", "title", "error", "errors", "reason", "msg")

Credentials = str
"""What a request was sent with: `none`, `header`, or `login`."""


def refusal_text(
    status: int,
    headers: Mapping[str, str],
    body: str,
    sent: Credentials,
    *,
    over_sse: bool = False,
) -> str:
    """Return the status, the server's words, and what to do, in a line.

    Args:
        status: Of the answer.
        headers: Of the answer, their names in small letters.
        body: The beginning of the answer's text.
        sent: What the request had.
        over_sse: Whether the server is spoken to as older ones are.
    """
    found = _PARAMETER.findall(headers.get("www-authenticate", ""))
    challenge = {name: quoted or plain for name, quoted, plain in found}
    words = challenge.get("error_description") or _words(body) or challenge.get("error", "")
    text = f"it answered {status} {_phrase(status)}".rstrip()
    if words:
        text += f": {one_line(words, _MOST).rstrip('.')}"
    advice = _advice(status, challenge, sent) or _other_transport(status, over_sse=over_sse)
    if not advice:
        return text
    return f"{text}{'' if text.endswith(('?', '!')) else '.'} {advice}"


def _advice(status: int, challenge: Mapping[str, str], sent: Credentials) -> str:
    login = "`prefect-swarm doctor --mcp FILE --login`"
    if status == 401:
        if sent == "login":
            return f"The stored login counts no more: log in again with {login}"
        if sent == "header":
            return "It doesn't take the token of its Authorization header: renew that"
        return (
            'It needs a token, such as "Bearer ${TOKEN}" in the header Authorization, '
            f"or a login by OAuth: {login}"
        )
    if status == 403:
        scope = challenge.get("scope")
        needs = f" with the scope {scope}" if scope else ""
        if sent == "none":
            return f"It may need a token{needs} in its headers, or a login by OAuth: {login}"
        return f"What it was sent doesn't allow this: it needs a token{needs} that does"
    return ""


def _other_transport(status: int, *, over_sse: bool) -> str:
    if over_sse and status in (400, 404, 405):
        return 'If it is a newer server that speaks streamable HTTP, write "type": "http"'
    if status in (404, 405):
        return 'If it is an older server that speaks SSE, write "type": "sse"'
    return ""


def _words(body: str) -> str:
    """Return what a body says: of JSON what stands under the usual names, of a page its text."""
    try:
        return _said(json.loads(body))
    except (ValueError, RecursionError):
        return " ".join(_TAGS.sub(" ", body).split())


def _said(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        items = cast("list[Any]", value)
        return next((text for each in items if (text := _said(each))), "")
    if not isinstance(value, dict):
        return ""
    held = cast("dict[str, Any]", value)
    return next((text for name in _SAYS if (text := _said(held.get(name)))), "")


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""
