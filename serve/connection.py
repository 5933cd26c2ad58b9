"""Answers to clients that may leave before they have them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import TypeVar

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from .api_errors import ApiError, api_error

__all__ = [
    "LARGEST_BODY",
    "DisconnectedError",
    "Lines",
    "error_response",
    "read_body",
    "while_connected",
]

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
            except Exception as error:  # noqa: BLE001 - whatever it is, the client is told
                await error_response(error)(scope, receive, send)
                return
            start = {"type": "http.response.start", "status": 200, "headers": self.raw_headers}
            await send(start)
            await send(_part(first))
            try:
                async for text in texts:
                    await send(_part(text))
            except Exception as error:  # noqa: BLE001 - whatever it is, the client is told
                await send(_part(self._on_error(error)))
        await send({"type": "http.response.body", "body": b""})


def _part(text: str) -> dict[str, object]:
    return {"type": "http.response.body", "body": text.encode(), "more_body": True}


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
