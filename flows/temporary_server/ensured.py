"""A server for flows that are called from Python where none is configured."""

from __future__ import annotations

import threading

from prefect.context import FlowRunContext
from prefect.logging import get_logger

from ...host.loopback import keep_loopback_direct
from .server import configured_url, start_server, stop_server

__all__ = ["ensure_server"]

_lock = threading.Lock()


def ensure_server() -> None:
    """Start a temporary server if Prefect would have to start its own; it ends with the process.

    A flow run that is under way has its server already.

    Raises:
        ServerError: It doesn't start, or Prefect's settings name no server and forbid this.
    """
    # A program may have set its proxies after it had imported this package.
    keep_loopback_direct()
    if FlowRunContext.get() is not None:
        return
    with _lock:
        if configured_url() is not None:
            return
        get_logger("swarm").info(
            "Starting a temporary Prefect server (5 to 10 s; set PREFECT_API_URL to use your own)."
        )
        server = start_server()
        try:
            server.wait()
        except BaseException:
            stop_server(server)
            raise
