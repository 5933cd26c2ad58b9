"""Answers that are larger than any model writes are broken off, with an error in their place."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any, cast

import httpx2
from pydantic_ai.models import Model

__all__ = ["bound_answers"]

MOST_BYTES = 8 * 2**20
"""Of an answer in one piece. It is parsed at once, a third of a second for each million letters;
the longest that models write have half a million."""
_MOST_OBJECTS, _PLAIN = 10_000, 64 * 2**10
"""A client takes half a millisecond for each call; in fewer bytes than these there are not many."""
_MOST_LINES = 1_000
"""Of an event, which has one or two."""
MOST_STREAMED = 64 * 2**20
"""Of a stream, whose events have a few hundred bytes for each word."""


def bound_answers(model: Model) -> None:
    """Have a model's client read no more of an answer; a client that can't is left as it is."""
    client: Any = getattr(getattr(model, "client", None), "_client", None)
    if isinstance(client, httpx2.AsyncClient):
        hooks = client.event_hooks
        # Models may share one client.
        if _bound not in hooks["response"]:
            hooks["response"].append(_bound)
            client.event_hooks = hooks


async def _bound(response: httpx2.Response) -> None:
    kind = response.headers.get("content-type", "")
    if "event-stream" in kind and isinstance(response.stream, httpx2.AsyncByteStream):
        response.stream = _Bounded(response.stream)
        return
    parts: list[bytes] = []
    size = 0
    # As decoded: what is compressed may be a thousand times as large.
    async for part in response.aiter_bytes():
        size += len(part)
        if size > MOST_BYTES:
            await response.aclose()
            parts = [_error(_too_large(MOST_BYTES))]
            break
        parts.append(part)
    body = b"".join(parts)
    if len(body) > _PLAIN and _objects_in(body) > _MOST_OBJECTS:
        body = _error(f"the answer has more than {_MOST_OBJECTS:,} objects")
    # What the client reads next; it has no other way to be given a body.
    response._content = body  # pyright: ignore[reportPrivateUsage]


class _Bounded(httpx2.AsyncByteStream):
    """A stream of events that ends with an error where it is too long."""

    def __init__(self, body: httpx2.AsyncByteStream) -> None:
        self._body = body

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = lines = event = 0
        held: list[bytes] = []
        async for part in self._body:
            size, event = size + len(part), event + len(part)
            held.append(part)
            # A client joins the pieces of a line one by one, and the lines of an event.
            if b"\n" in part:
                whole, end, rest = b"".join(held).rpartition(b"\n")
                yield whole + end
                held = [rest]
                if (blank := max(whole.rfind(b"\n\n"), whole.rfind(b"\n\r\n"))) >= 0:
                    lines, event = 0, len(whole) - blank + len(rest)
                lines += whole.count(b"\n", max(0, blank))
            if size > MOST_STREAMED or event > MOST_BYTES or lines > _MOST_LINES:
                most = MOST_BYTES if event > MOST_BYTES else MOST_STREAMED
                yield b"\n\ndata: " + _error(_too_large(most)) + b"\n\n"
                return
        yield b"".join(held)

    async def aclose(self) -> None:
        await self._body.aclose()


def _objects_in(body: bytes) -> int:
    """Count objects and lists, up to more than are read."""
    try:
        pending: list[Any] = [json.loads(body)]
    except (ValueError, RecursionError):
        return 0
    count = 0
    while pending and count <= _MOST_OBJECTS:
        held = pending.pop()
        if isinstance(held, dict):
            pending += cast("dict[str, Any]", held).values()
        elif isinstance(held, list):
            pending += cast("list[Any]", held)
        else:
            continue
        count += 1
    return count


def _too_large(most: int) -> str:
    return f"the answer has more than {most:,} bytes"


def _error(text: str) -> bytes:
    message = f"{text}, and no more are read"
    return json.dumps({"error": {"message": message, "type": "answer_too_large"}}).encode()
