"""A server for flows that are called from Python where none is configured."""

from __future__ import annotations

import os
import threading

from prefect.context import FlowRunContext
from prefect.logging import get_logger

from ...host.certificates import check_ca_files
from ...host.loopback import keep_loopback_direct
from ...host.socks import check_proxies
from .backoffs import say_backoffs
from .reaching import find_fault
from .server import configured_url, start_server, stop_server

__all__ = ["ensure_server"]

_lock = threading.Lock()
_usable: set[str] = set()
"""Addresses of configured servers that were found to take what the settings have for them."""


def ensure_server() -> None:
    """Start a temporary server if Prefect would have to start its own; it ends with the process.

    A flow run that is under way has its server already.

    Raises:
        InputError: A proxy is configured that can't be used.
        ServerError: It doesn't start, Prefect's settings name no server and forbid this, or the
            server that they name refuses; says which setting is wrong.
    """
    # A program may have set its proxies after it had imported this package.
    keep_loopback_direct()
    if FlowRunContext.get() is not None:
        return
    check_proxies()
    check_ca_files(os.environ)
    say_backoffs()
    with _lock:
        if (url := configured_url()) is not None:
            _check_settings(url)
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


def _check_settings(url: str) -> None:
    """Raise where a setting is wrong; a server that doesn't answer now is Prefect's to wait for."""
    if url in _usable:
        return
    fault = find_fault(url)
    if fault is not None and fault.is_setting:
        raise fault.error(url)
    if fault is None:
        _usable.add(url)
