"""Asking the engine of another process of this machine."""

from __future__ import annotations

import hmac
import json
import secrets
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ....errors import SwarmError
from ..api import GeneratedText, GenerateRequest
from .record import ServedRecord
from .wire import answer_from_json, proof, raise_error, request_to_json

if TYPE_CHECKING:
    import httpx

__all__ = ["ServerGoneError", "ask_server"]

_CONNECT_S = 5.0

# Put in and found by `_make_sure`: the tokens of servers that have proved themselves, so that a
# proof is asked for once.
_proved: set[str] = set()


class ServerGoneError(SwarmError):
    """A server that has a record can't answer, or ended before its answer did."""


async def ask_server(
    record: ServedRecord, request: GenerateRequest, adapter: Path | None
) -> GeneratedText:
    """Have a server answer a request. What the request calls is called in this process.

    Cancelling the awaiting task closes the connection, which ends the request at its next token.

    Args:
        record: The server's.
        request: Its seed must be set, for the server may have another default.
        adapter: The adapter to apply.

    Raises:
        ServerGoneError: The server can't be had, or went away.
        SwarmError: Whatever the engine raises.
    """
    # Here and not above: it takes a moment, and most processes ask no server.
    import httpx

    body = {
        "request": request_to_json(request),
        "adapter": None if adapter is None else str(adapter),
        "watched": request.watch is not None,
    }
    try:
        # Without a time limit for reading: a request waits as long as others come before it.
        timeout = httpx.Timeout(None, connect=_CONNECT_S)
        # The address is plain HTTP, and reading the machine's certificates takes a moment.
        no_certificates = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        async with httpx.AsyncClient(
            base_url=record.address, timeout=timeout, verify=no_certificates, trust_env=False
        ) as client:
            await _make_sure(client, record)
            headers = {"Authorization": f"Bearer {record.token}"}
            async with client.stream(
                "POST", "/engine/generate", json=body, headers=headers
            ) as response:
                if response.status_code != 200:
                    raise ServerGoneError(f"it answered with status {response.status_code}")
                return await _Answer(request).read(response.aiter_lines())
    except (httpx.HTTPError, httpx.StreamError) as error:
        raise ServerGoneError(str(error) or type(error).__name__) from None


async def _make_sure(client: httpx.AsyncClient, record: ServedRecord) -> None:
    """Send no text to a process that happens to have the port of a server that has ended."""
    if record.token in _proved:
        return
    challenge = secrets.token_urlsafe(16)
    response = await client.post("/engine/proof", json={"challenge": challenge}, timeout=_CONNECT_S)
    if not hmac.compare_digest(response.content, proof(record.token, challenge).encode()):
        raise ServerGoneError("another program answers at its address")
    _proved.add(record.token)


class _Answer:
    """What has come of an answer."""

    def __init__(self, request: GenerateRequest) -> None:
        self._request = request
        self._text = ""
        self._input = self._cached = 0
        self._queue_s = 0.0
        self._pieces = 0

    async def read(self, lines: AsyncIterator[str]) -> GeneratedText:
        """Take lines until the answer has ended, or `watch` ends it."""
        async for line in lines:
            try:
                event = json.loads(line)
            except ValueError:
                raise ServerGoneError("its answer broke off") from None
            if (done := self._take(event)) is not None:
                return done
        raise ServerGoneError("its answer broke off")

    def _take(self, event: dict[str, Any]) -> GeneratedText | None:
        match event:
            case {"started": [int(tokens), int(cached), queue_s]}:
                self._input, self._cached, self._queue_s = tokens, cached, queue_s
                if on_start := self._request.on_start:
                    on_start(tokens, cached)
            case {"text": str(piece)}:
                self._text += piece
                if on_text := self._request.on_text:
                    on_text(piece)
            case {"watch": str(held), "tokens": int(tokens), "duration_s": duration_s}:
                return self._watch(held, tokens, duration_s)
            case {"done": done}:
                return answer_from_json(done)
            case {"declined": why}:
                raise ServerGoneError(str(why))
            case {"error": error}:
                raise_error(error)
            case _:
                pass
        return None

    def _watch(self, held: str, tokens: int, duration_s: float) -> GeneratedText | None:
        watch, on_text = self._request.watch, self._request.on_text
        text = self._text + held
        why = watch(text) if watch else ""
        if not why:
            return None
        if on_text and held:
            on_text(held)
        return GeneratedText(
            text=text,
            input_tokens=self._input,
            cached_tokens=self._cached,
            output_tokens=tokens,
            finish="aborted",
            queue_s=self._queue_s,
            duration_s=duration_s,
            why=why,
        )
