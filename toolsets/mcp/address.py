"""A session with a server at an address: bounded answers, and no log on the terminal."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from typing import Any

import httpx2
from fastmcp.client.transports.http import StreamableHttpTransport
from mcp.shared._httpx_utils import create_mcp_http_client

from .configuration import HttpServer
from .lines import WholeText

__all__ = ["address_transport"]

_logger = logging.getLogger("prefect_swarm.toolsets")


def address_transport(server: HttpServer, most_bytes: int) -> StreamableHttpTransport:
    """Return what opens a session; no answer of more bytes is read."""
    _quieten()

    def client(
        headers: dict[str, str] | None = None,
        timeout: httpx2.Timeout | None = None,
        auth: httpx2.Auth | None = None,
        follow_redirects: bool = True,  # noqa: ARG001 - the caller's own rule holds
    ) -> httpx2.AsyncClient:
        made = create_mcp_http_client(headers=headers, timeout=timeout, auth=auth)
        made.event_hooks["response"].append(_bound(most_bytes))
        return made

    return StreamableHttpTransport(
        server.url,
        headers=dict(server.headers),
        httpx_client_factory=client,
        max_sse_event_size=most_bytes,
    )


class _Bounded(httpx2.AsyncByteStream):
    """A body that breaks off where it is too large; what is no character in it is made one."""

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
            streams = response.headers.get("content-type", "").startswith("text/event-stream")
            is_text = "content-encoding" not in response.headers
            response.stream = _Bounded(response.stream, None if streams else most, is_text=is_text)

    return bound


class _ToDebug(logging.Filter):
    """Takes what the library says of a server's faults to our debug log: errors tell it as well."""

    def filter(self, record: logging.LogRecord) -> bool:
        _logger.debug("%s: %s", record.name, record.getMessage())
        return False


_to_debug = _ToDebug()


def _quieten() -> None:
    for name in ("mcp.client.streamable_http", "httpx2"):
        logging.getLogger(name).addFilter(_to_debug)
