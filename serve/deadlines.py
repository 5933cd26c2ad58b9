"""Connections: how many there may be, and how long a request may take to come to its end."""

from __future__ import annotations

import asyncio
import resource

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

__all__ = ["BoundedConnection"]

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
        state, is_begun = self.conn.their_state, bool(self.conn.trailing_data[0])
        if state is h11.SEND_BODY or (state is h11.IDLE and (is_begun or is_new)):
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
