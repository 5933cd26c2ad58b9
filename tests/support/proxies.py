"""A real HTTP proxy that reaches nothing, and notes what it is asked for."""

from __future__ import annotations

import os
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

__all__ = ["recording_proxy"]

_KINDS = ("http_proxy", "https_proxy", "all_proxy")


class _Recording(BaseHTTPRequestHandler):
    def _refuse(self) -> None:
        self.server.asked.append(f"{self.command} {self.path}")  # type: ignore[attr-defined]
        self.send_error(502, "A proxy reaches nothing on this machine")

    do_GET = do_POST = do_HEAD = do_CONNECT = _refuse  # noqa: N815 - names of the base class

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""


@contextmanager
def recording_proxy() -> Generator[tuple[dict[str, str], list[str]]]:
    """Run a proxy; yield an environment that names it, and what it was asked for."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Recording)
    asked: list[str] = []
    server.asked = asked  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    address = f"http://127.0.0.1:{server.server_port}"
    names = [name for kind in _KINDS for name in (kind, kind.upper())]
    kept = {name: text for name, text in os.environ.items() if "_proxy" not in name.lower()}
    try:
        yield {**kept, **dict.fromkeys(names, address)}, asked
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
