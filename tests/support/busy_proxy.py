"""A proxy before a Prefect server that answers some requests with 503 in its place."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from urllib.parse import urlsplit

__all__ = ["BusyProxy", "busy_proxy"]

_BUSY = (
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\n"
    b"content-length: 42\r\nconnection: close\r\n\r\n"
    b'{"exception_message":"database is locked"}'
)


@dataclass
class BusyProxy:
    """Passes bytes on; a request that begins with `line` is refused as often as `refusals` says."""

    host: str
    port: int
    line: bytes = b"POST /api/flow_runs/ "
    refusals: int = 0
    refused: int = 0
    url: str = ""
    ready: threading.Event = field(default_factory=threading.Event)
    stop: Callable[[], object] = lambda: None

    async def serve(self) -> None:
        """Serve until `stop` is called, from any thread."""
        stopped = asyncio.Event()
        self.stop = partial(asyncio.get_running_loop().call_soon_threadsafe, stopped.set)
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/api"
        self.ready.set()
        await stopped.wait()
        server.close()

    async def _connected(self, near: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.CancelledError), closing(back):
            far, on = await asyncio.open_connection(self.host, self.port)
            with closing(on):
                await asyncio.gather(self._requests(near, on, back), _pass(far, back))

    async def _requests(
        self, near: asyncio.StreamReader, on: asyncio.StreamWriter, back: asyncio.StreamWriter
    ) -> None:
        while data := await near.read(65536):
            if data.startswith(self.line) and self.refused < self.refusals:
                self.refused += 1
                back.write(_BUSY)
                await back.drain()
                break
            on.write(data)
            await on.drain()
        on.close()


async def _pass(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    while data := await source.read(65536):
        target.write(data)
        await target.drain()
    target.close()


@contextmanager
def busy_proxy(api: str, refusals: int) -> Generator[BusyProxy]:
    """Start a proxy before the API at that address."""
    address = urlsplit(api)
    assert address.hostname is not None
    assert address.port is not None
    proxy = BusyProxy(address.hostname, address.port, refusals=refusals)
    # Connections that are open at the end are cancelled, and close, as `run` ends.
    thread = threading.Thread(target=lambda: asyncio.run(proxy.serve()), daemon=True)
    thread.start()
    assert proxy.ready.wait(10)
    yield proxy
    proxy.stop()
    thread.join(10)
