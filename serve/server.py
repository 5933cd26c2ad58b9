"""The process that serves a model until it is asked to end."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import uvicorn

from ..blocks.llama import EngineConfig
from ..blocks.llama.served.answer import records_folder
from ..blocks.llama.served.record import new_record, published
from ..errors import InputError
from .access import access_for
from .app import make_app
from .deadlines import BoundedConnection
from .service import ModelService

__all__ = ["serve_model"]

_BACKLOG = 128
# Requests get an end at once; what is left is a client that doesn't read its answer.
_LEAVE_S = 3


async def serve_model(
    path: Path,
    config: EngineConfig,
    names: tuple[str, ...],
    *,
    host: str,
    port: int,
    key_variable: str | None,
    ready: Callable[[str], None],
) -> None:
    """Serve a model file until SIGINT or SIGTERM comes, which is raised again at the end.

    Args:
        path: A file that passed `check_model_file`.
        config: How it is served.
        names: What clients may call it; the first is its name.
        host: The address to listen on.
        port: The port; 0 takes a free one.
        key_variable: The environment variable with the key that clients have to send.
        ready: Called with the server's address once it can be asked.

    Raises:
        InputError: It can't listen there, or a key is needed and there is none.
        ModelError: The file can't be loaded.
    """
    key = os.environ.get(key_variable) if key_variable else None
    # Before the file is loaded, which may take a while.
    access_for(host, "", key_variable, key)
    listening = _listen(host, port)
    with listening:
        address = _address(listening)
        record = new_record(path, address, config)
        service = ModelService(path, config, names)
        await service.load()
        app = make_app(service, access_for(host, record.token, key_variable, key))
        settings = uvicorn.Config(
            app,
            lifespan="off",
            log_config=None,
            access_log=False,
            http=BoundedConnection,
            ws="none",
            timeout_graceful_shutdown=_LEAVE_S,
        )
        with published(records_folder(), record):
            ready(address)
            await _Server(settings, service).serve(sockets=[listening])


class _Server(uvicorn.Server):
    """Ends all requests when it is asked to end, instead of waiting for their answers."""

    def __init__(self, config: uvicorn.Config, service: ModelService) -> None:
        super().__init__(config)
        self._service = service
        self._loop = asyncio.get_running_loop()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Take a signal; it may come between any two instructions."""
        self._loop.call_soon_threadsafe(self._service.close)
        super().handle_exit(sig, frame)


def _listen(host: str, port: int) -> socket.socket:
    try:
        found = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)
        family, kind, protocol, _, place = found[0]
        listening = socket.socket(family, kind, protocol)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind(place)
            listening.listen(_BACKLOG)
        except BaseException:
            listening.close()
            raise
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(
            f"The server can't listen on {host} port {port}: {reason}.",
            "Name another port (--port) or host (--host).",
        ) from None
    listening.setblocking(False)
    return listening


def _address(listening: socket.socket) -> str:
    """The URL by which this machine reaches a socket."""
    host, port = listening.getsockname()[:2]
    if listening.family == socket.AF_INET6:
        return f"http://[{'::1' if host == '::' else host}]:{port}"
    return f"http://{'127.0.0.1' if host == '0.0.0.0' else host}:{port}"  # noqa: S104 - compared only
