"""Answers to clients that may leave before they have them."""

from __future__ import annotations

import asyncio
import resource
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import Any, TypeVar

import h11
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from ..errors import ContextTooSmallError, InputError, SwarmError

__all__ = [
    "LARGEST_BODY",
    "ApiError",
    "BoundedConnection",
    "ClosingError",
    "DisconnectedError",
    "Lines",
    "api_error",
    "error_response",
    "read_body",
    "while_connected",
]


_READ_S = 60.0
"""Seconds from a request's first byte to its last; 16 MB in a minute are 2 Mbit/s."""
_LATE = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
_FULL = b"HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


class BoundedConnection(H11Protocol):
    """A connection whose requests have to be complete in time.

    uvicorn alone waits for ever: what it has begins anew with each byte.
    """

    read_s = _READ_S
    # The system says how many files a process may have open; others are needed, too.
    most = min(1024, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2)
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a connection, or refuse it where there are too many."""
        super().connection_made(transport)
        if len(self.connections) > self.most:
            transport.write(_FULL)
            transport.close()
            return
        self._watch(is_new=True)

    def data_received(self, data: bytes) -> None:
        """Take bytes; the time of a request isn't changed by them."""
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        """Go on to the next request."""
        super().on_response_complete()
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the time."""
        self._forget()
        super().connection_lost(exc)

    def _watch(self, *, is_new: bool = False) -> None:
        state, has_bytes = self.conn.their_state, bool(self.conn.trailing_data[0])
        if state is h11.SEND_BODY or (state is h11.IDLE and (has_bytes or is_new)):
            if self._deadline is None:
                self._deadline = self.loop.call_later(self.read_s, self._late)
        else:
            self._forget()

    def _forget(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _late(self) -> None:
        self._deadline = None
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.write(_LATE)
        self.transport.close()


class ApiError(SwarmError):
    """A request that can't be answered, with its status and what OpenAI's clients read of it."""

    def __init__(
        self,
        problem: str,
        fix: str = "",
        status: int = 400,
        code: str | None = None,
        param: str | None = None,
    ) -> None:
        super().__init__(problem, fix)
        self.args = (problem, fix, status, code, param)
        self.status = status
        self.code = code
        self.param = param

    def body(self) -> dict[str, Any]:
        """Return the error as JSON."""
        kind = "server_error" if self.status >= 500 else "invalid_request_error"
        if self.status == 401:
            kind = "authentication_error"
        return {
            "error": {"message": str(self), "type": kind, "param": self.param, "code": self.code}
        }


class ClosingError(SwarmError):
    """The server is being ended, so that a request was stopped or not begun."""


def api_error(error: BaseException) -> ApiError:
    """Say what an error means to a client."""
    match error:
        case ApiError():
            return error
        case ClosingError():
            return ApiError(error.problem, error.fix, 503, "server_closing")
        case ContextTooSmallError():
            return ApiError(error.problem, error.fix, 400, "context_length_exceeded", "messages")
        case InputError():
            return ApiError(error.problem, error.fix, 400, "invalid_value")
        case SwarmError():
            return ApiError(error.problem, error.advice, 500, "model_failed")
        case _:
            return ApiError(f"The server failed: {error!r}.", "Try again.", 500, "internal_error")


LARGEST_BODY = 16 * 2**20
"""Bytes. A million tokens are four million letters; to read more JSON would hold up all others."""

_T = TypeVar("_T")


class DisconnectedError(Exception):
    """The client is gone; nobody reads what is answered."""


async def read_body(request: Request) -> bytes:
    """Read the body of a request that says it is JSON.

    A page in a browser can't send that to another host without being allowed to, and it is not.

    Raises:
        ApiError: It says that it is something else, or is too large.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise ApiError(f"The content type is {kind or 'missing'!r}.", "Send application/json.", 415)
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > LARGEST_BODY:
            raise ApiError(
                f"The body has more than {LARGEST_BODY:,} bytes.", "Send less text.", 413
            )
    return bytes(body)


async def while_connected(receive: Receive, work: Awaitable[_T]) -> _T:
    """Await some work; where the client leaves, it is cancelled.

    Args:
        receive: The connection, after the request's body has been read.
        work: What is awaited.

    Raises:
        DisconnectedError: The client left.
    """
    task = asyncio.ensure_future(work)
    watcher = asyncio.ensure_future(_disconnected(receive))
    try:
        await asyncio.wait({task, watcher}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        raise DisconnectedError
    finally:
        for open_task in (task, watcher):
            open_task.cancel()
        await asyncio.wait({task, watcher})


def error_response(error: BaseException) -> Response:
    """An error in the shape of OpenAI's API."""
    found = api_error(error)
    headers = {"WWW-Authenticate": "Bearer"} if found.status == 401 else None
    return JSONResponse(found.body(), found.status, headers)


class Lines(Response):
    """Texts that go out as they are made; an error before the first is a response of its own."""

    def __init__(
        self,
        texts: AsyncGenerator[str],
        media_type: str,
        on_error: Callable[[BaseException], str],
    ) -> None:
        """Take the texts.

        Args:
            texts: They are closed when all have gone out, or the client has left.
            media_type: Of all of them together.
            on_error: Makes the last text where an error ends them.
        """
        super().__init__(media_type=media_type, headers={"Cache-Control": "no-store"})
        del self.headers["content-length"]
        self._texts = texts
        self._on_error = on_error

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send them."""
        try:
            await while_connected(receive, self._send(scope, receive, send))
        except DisconnectedError:
            return

    async def _send(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with aclosing(self._texts) as texts:
            try:
                first = await anext(texts, "")
            except Exception as error:  # noqa: BLE001 - whatever it is, the client gets it
                await error_response(error)(scope, receive, send)
                return
            start = {"type": "http.response.start", "status": 200, "headers": self.raw_headers}
            await send(start)
            await send(_part(first))
            try:
                async for text in texts:
                    await send(_part(text))
            except Exception as error:  # noqa: BLE001 - whatever it is, the client gets it
                await send(_part(self._on_error(error)))
        await send({"type": "http.response.body", "body": b""})


def _part(text: str) -> dict[str, object]:
    return {"type": "http.response.body", "body": text.encode(), "more_body": True}


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
