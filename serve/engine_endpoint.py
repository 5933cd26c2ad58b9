"""POST /engine/generate and /engine/proof: the engine for other processes of this machine."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncGenerator
from dataclasses import replace
from typing import Any, cast

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from ..blocks.llama.adapter import check_adapter
from ..blocks.llama.api import GeneratedText, GenerateRequest
from ..blocks.llama.served.wire import (
    answer_to_json,
    error_to_json,
    proof,
    request_from_json,
)
from ..errors import InputError, ModelFailedError, SwarmError
from .api_errors import ClosingError
from .connection import Lines, read_body
from .service import ModelService

__all__ = ["generate_lines", "prove"]


async def prove(token: str, request: Request) -> Response:
    """Show a client that this is the server of the record that it has read."""
    body = _json(await read_body(request))
    return PlainTextResponse(proof(token, str(body.get("challenge", ""))))


async def generate_lines(service: ModelService, request: Request) -> Response:
    """Answer a request to the engine, in lines of JSON; see `served.wire`."""
    body = _json(await read_body(request))
    lines = _lines(service, body)
    return Lines(lines, "application/x-ndjson", _error_line)


async def _lines(service: ModelService, body: dict[str, Any]) -> AsyncGenerator[str]:
    try:
        request = request_from_json(body.get("request"))
    except InputError as error:
        yield _line({"declined": error.problem})
        return
    try:
        adapter = check_adapter(given) if (given := body.get("adapter")) else None
    except SwarmError as error:
        yield _error_line(error)
        return
    sender = _Sender(request, watched=bool(body.get("watched")))
    task = asyncio.ensure_future(service.generate(sender.request, adapter))
    task.add_done_callback(lambda _: sender.events.put_nowait(None))
    try:
        while (event := await sender.events.get()) is not None:
            yield _line(event)
        yield _last_line(task)
    finally:
        task.cancel()
        await asyncio.wait([task])


class _Sender:
    """Turns what the engine calls into events, in the order of the calls."""

    def __init__(self, request: GenerateRequest, *, watched: bool) -> None:
        self.events: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        self._loop = asyncio.get_running_loop()
        self._asked = self._began = time.monotonic()
        self._sent = 0
        self._watches = 0
        self.request = replace(
            request,
            on_start=self._start,
            on_text=self._text,
            watch=self._watch if watched else None,
        )

    # The engine's thread calls these.

    def _start(self, tokens: int, cached: int) -> None:
        self._began = time.monotonic()
        self._put({"started": [tokens, cached, self._began - self._asked]})

    def _text(self, piece: str) -> None:
        self._sent += len(piece)
        self._put({"text": piece})

    def _watch(self, text: str) -> str:
        from ..blocks.llama.batcher import WATCHED_TOKENS

        self._watches += 1
        tokens, seconds = self._watches * WATCHED_TOKENS, time.monotonic() - self._began
        self._put({"watch": text[self._sent :], "tokens": tokens, "duration_s": seconds})
        # The client decides, and closes the connection.
        return ""

    def _put(self, event: dict[str, Any]) -> None:
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self.events.put_nowait, event)


def _last_line(task: asyncio.Future[GeneratedText]) -> str:
    if error := task.exception():
        return _error_line(error)
    return _line({"done": answer_to_json(task.result())})


def _error_line(error: BaseException) -> str:
    if isinstance(error, ClosingError):
        return _line({"declined": error.problem})
    if not isinstance(error, SwarmError):
        error = ModelFailedError(f"The server failed: {error!r}.", "Try again.")
    return _line({"error": error_to_json(error)})


def _line(event: dict[str, Any]) -> str:
    return json.dumps(event, ensure_ascii=False) + "\n"


def _json(data: bytes) -> dict[str, Any]:
    with contextlib.suppress(ValueError):
        if isinstance(found := json.loads(data), dict):
            return cast("dict[str, Any]", found)
    raise InputError("The body is not a JSON object.", "Send a JSON object.")
