"""Who may ask the temporary server: what has its login, on this machine, and no page of a browser.

It stands before all of Prefect's app, so that it holds for each path and for websockets, too.
"""

from __future__ import annotations

import hmac
from base64 import b64encode
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any, NamedTuple

from ...host.this_machine import host_name, is_loopback

__all__ = ["Guard", "Refusal", "refusal_of_request"]

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

_WRONG_HOST = "This server is asked as 127.0.0.1 or localhost alone."
_PAGE = "This server answers no page of a browser."
_NO_LOGIN = "Unauthorized"
_POLICY = 1008
"""The close code of a websocket that breaks a rule; the client sees a 403."""


class Refusal(NamedTuple):
    """Why a request isn't answered."""

    status: int
    why: str


def refusal_of_request(
    kind: str, headers: Iterable[tuple[bytes, bytes]], login: str
) -> Refusal | None:
    """Say why a request may not be answered; None if it may. Pure.

    Args:
        kind: ASGI's: `http` or `websocket`. A websocket shows its login to Prefect later, in its
            first message.
        headers: Their names in lower case.
        login: Prefect's auth string, `user:password`.
    """
    found: dict[bytes, list[bytes]] = {}
    for name, value in headers:
        found.setdefault(name, []).append(value)
    hosts = found.get(b"host", [])
    # Two hosts could mean one for whoever checks and another for whoever answers.
    if len(hosts) != 1 or not is_loopback(host_name(hosts[0].decode("latin-1"))):
        return Refusal(403, _WRONG_HOST)
    # A browser alone sends it. The server has no pages, so each origin is a foreign one.
    if b"origin" in found:
        return Refusal(403, _PAGE)
    if kind == "websocket":
        return None
    wanted = b"Basic " + b64encode(login.encode())
    shown = found.get(b"authorization", [])
    if len(shown) != 1 or not hmac.compare_digest(shown[0], wanted):
        return Refusal(401, _NO_LOGIN)
    return None


class Guard:
    """An ASGI app that hands on to another one what may be answered."""

    def __init__(self, app: App, login: str) -> None:
        """Take the app, and the auth string that Prefect's clients send."""
        self._app, self._login = app, login

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or have it answered."""
        if (kind := scope["type"]) in ("http", "websocket"):
            refusal = refusal_of_request(kind, scope["headers"], self._login)
            if refusal is not None:
                await _refuse(kind, refusal, send)
                return
        await self._app(scope, receive, send)


async def _refuse(kind: str, refusal: Refusal, send: Send) -> None:
    if kind == "websocket":
        await send({"type": "websocket.close", "code": _POLICY, "reason": refusal.why})
        return
    # As Prefect says it, whose clients show this text.
    body = f'{{"exception_message":"{refusal.why}"}}'.encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
