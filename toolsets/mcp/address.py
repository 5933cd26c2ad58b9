"""A session with a server at an address, and what it says where it refuses a request."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from http import HTTPStatus
from typing import Any, cast

import httpx2
from fastmcp.client.transports.base import ClientTransport, TransportOptions
from fastmcp.client.transports.http import StreamableHttpTransport
from fastmcp.client.transports.sse import SSETransport
from mcp import ClientSession
from mcp.shared._httpx_utils import create_mcp_http_client

from ...text import one_line
from .configuration import HttpServer
from .oauth import stored_login
from .process import WholeText
from .session import ForgivingSession, quieten

__all__ = ["Credentials", "Refusals", "address_transport", "refusal_text"]


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


_QUIET_S = 3600.0
"""Seconds that a server may be silent on its stream of events."""


class Refusals:
    """What a server refused, as its answers say.

    Attributes:
        sent: What requests are sent with, as `refusal_text` has it.
        last: The text of the last refusal; "" after an answer that is none.
        count: How many there were.
        lost: Set where an answer that would come on the stream of events never will.
    """

    def __init__(self, server: HttpServer, sent: str) -> None:
        """Take a server, and what requests to it are sent with."""
        self._server, self.sent = server, sent
        self.last, self.count = "", 0
        self.lost = asyncio.Event()

    async def note(self, response: httpx2.Response) -> None:
        """Look at an answer. Those of an authorization server say nothing of this one."""
        if response.request.url.host != httpx2.URL(self._server.url).host:
            return
        is_post = response.request.method == "POST"
        if response.status_code < 400:
            self.last = "" if is_post else self.last
            return
        # Not each server has a stream of its own events, or sessions to end.
        if not is_post and self._server.kind == "http":
            return
        body = "" if _is_stream(response) else (await _text(response))[:4096]
        headers = {name.lower(): value for name, value in response.headers.items()}
        is_sse = self._server.kind == "sse"
        status = response.status_code
        self.last = refusal_text(status, headers, body, self.sent, over_sse=is_sse)
        self.count += 1
        if is_sse:
            self.lost.set()


async def _text(response: httpx2.Response) -> str:
    try:
        return (await response.aread()).decode("utf-8", "replace")
    except httpx2.HTTPError:
        return ""


def address_transport(server: HttpServer, most_bytes: int) -> tuple[ClientTransport, Refusals]:
    """Return what opens a session, and what it notes; no answer of more bytes is read."""
    quieten()
    has_token = any(name.lower() == "authorization" for name in server.headers)
    login = None if has_token else stored_login(server)
    refusals = Refusals(server, "header" if has_token else "login" if login else "none")

    def client(
        headers: dict[str, str] | None = None,
        timeout: httpx2.Timeout | None = None,
        auth: httpx2.Auth | None = None,
        follow_redirects: bool = True,  # noqa: ARG001 - the caller's own rule holds
    ) -> httpx2.AsyncClient:
        made = create_mcp_http_client(headers=headers, timeout=timeout, auth=auth)
        made.event_hooks["response"] += [_bound(most_bytes), refusals.note]
        return made

    if server.kind == "sse":
        return _Sse(
            server.url,
            headers=dict(server.headers),
            auth=login,
            sse_read_timeout=_QUIET_S,
            httpx_client_factory=client,
        ), refusals
    return _Http(
        server.url,
        headers=dict(server.headers),
        auth=login,
        httpx_client_factory=client,
        max_sse_event_size=most_bytes,
    ), refusals


class _Forgiving(ClientTransport):
    @asynccontextmanager
    async def connect_session(
        self, *, transport_options: TransportOptions | None = None, **session_kwargs: Any
    ) -> AsyncGenerator[ClientSession]:
        options = replace(transport_options or TransportOptions(), session_class=ForgivingSession)
        async with super().connect_session(transport_options=options, **session_kwargs) as session:
            yield session


class _Http(_Forgiving, StreamableHttpTransport):
    pass


class _Sse(_Forgiving, SSETransport):
    pass


class _Bounded(httpx2.AsyncByteStream):
    """A body that breaks off where it is too large; what is not a character in it is made one."""

    def __init__(self, body: httpx2.AsyncByteStream, most: int | None, *, is_text: bool) -> None:
        self._body, self._most, self._is_text = body, most, is_text

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        whole = WholeText()
        async for part in self._body:
            size += len(part)
            if self._most is not None and size > self._most:
                raise httpx2.StreamError(f"its answer has more than {self._most:,} bytes")
            yield whole.feed(part) if self._is_text else part
        if self._is_text and (rest := whole.feed(b"", final=True)):
            yield rest

    async def aclose(self) -> None:
        await self._body.aclose()


def _bound(most: int) -> Any:
    async def bound(response: httpx2.Response) -> None:
        if isinstance(response.stream, httpx2.AsyncByteStream):
            # The events of a stream are bounded one by one, by the transport.
            limit = None if _is_stream(response) else most
            is_text = "content-encoding" not in response.headers
            response.stream = _Bounded(response.stream, limit, is_text=is_text)

    return bound


def _is_stream(response: httpx2.Response) -> bool:
    return response.headers.get("content-type", "").startswith("text/event-stream")
