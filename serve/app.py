"""The server's addresses, who may ask it, and the process that serves until it is asked to end."""

from __future__ import annotations

import asyncio
import hmac
import os
import socket
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from ..errors import InputError, SwarmError
from ..host.network import host_name, is_loopback
from ..models.llama.api import EngineConfig
from ..models.llama.served import new_record, published, records_folder
from .connection import ApiError, BoundedConnection, DisconnectedError, error_response
from .endpoints import complete_chat, generate_lines, prove, require_model
from .service import ModelService

__all__ = ["Access", "access_for", "make_app", "serve_model"]


_OPEN = ("/health", "/engine/proof")


@dataclass(frozen=True)
class Access:
    """What a request has to show.

    Attributes:
        token: What processes of this machine have from the server's record, for `/engine`.
        key: What all others have to send; None where only this machine can connect.
    """

    token: str
    key: str | None = None

    def check(self, path: str, headers: Mapping[str, str]) -> None:
        """Refuse a request that may not be answered.

        Raises:
            ApiError: It shows no key, or a wrong one, or is for another host.
        """
        if path in _OPEN:
            return
        wanted = self.token if path.startswith("/engine/") else self.key
        if wanted is None:
            _require_loopback(headers.get("host", ""))
            return
        kind, _, sent = headers.get("authorization", "").partition(" ")
        if kind.lower() != "bearer":
            sent = ""
        if not hmac.compare_digest(sent.strip().encode(), wanted.encode()):
            raise ApiError(
                "The key is wrong." if sent else "The request has no key.",
                "Send the server's key: Authorization: Bearer KEY.",
                401,
                "invalid_api_key",
            )


def access_for(host: str, token: str, variable: str | None, key: str | None) -> Access:
    """Decide what requests have to show.

    Args:
        host: The address that the server listens on.
        token: The token of its record.
        variable: The environment variable that names the key.
        key: Its value; None if it is not set.

    Raises:
        InputError: There is no key, and there has to be.
    """
    if variable is not None and not key:
        raise InputError(
            f"The environment variable {variable} is not set, or empty.",
            f"Set {variable} to the key that clients have to send.",
        )
    if variable is None and not is_loopback(host):
        raise InputError(
            f"The host {host} can be reached from other machines, so a key is needed.",
            "Name the environment variable that has it: --key-env VARIABLE, or leave --host out.",
        )
    return Access(token, key if variable is not None else None)


def _require_loopback(host: str) -> None:
    """Refuse what a page in a browser sends by way of a name of its own that leads here."""
    name = host_name(host)
    if not is_loopback(name):
        raise ApiError(
            f"The request is for the host {name!r}.",
            "Ask for 127.0.0.1 or localhost, or start the server with --key-env.",
            403,
            "wrong_host",
        )


_Handler = Callable[[Request], Awaitable[Response]]


def make_app(service: ModelService, access: Access) -> Starlette:
    """Make the application that serves a model.

    Args:
        service: What answers.
        access: What requests have to show.
    """

    async def models(_: Request) -> Response:
        return JSONResponse({"object": "list", "data": [_model(service, service.names[0])]})

    async def model(request: Request) -> Response:
        require_model(service, request.path_params["name"])
        return JSONResponse(_model(service, request.path_params["name"]))

    async def health(_: Request) -> Response:
        status = "closing" if service.closed else "ok"
        return JSONResponse({"status": status}, 503 if service.closed else 200)

    async def metrics(_: Request) -> Response:
        return PlainTextResponse(service.metrics.text(), media_type="text/plain; version=0.0.4")

    def route(path: str, handler: _Handler, method: str = "GET") -> Route:
        return Route(path, _guarded(handler, access), methods=[method])

    return Starlette(
        routes=[
            route("/v1/chat/completions", partial(complete_chat, service), "POST"),
            route("/v1/models", models),
            route("/v1/models/{name:path}", model),
            route("/health", health),
            route("/metrics", metrics),
            route("/engine/generate", partial(generate_lines, service), "POST"),
            route("/engine/proof", partial(prove, access.token), "POST"),
        ],
        exception_handlers={404: _unknown, 405: _unknown, 500: _failed},
    )


def _guarded(handler: _Handler, access: Access) -> _Handler:
    async def guarded(request: Request) -> Response:
        try:
            access.check(request.url.path, request.headers)
            return await handler(request)
        except (DisconnectedError, ClientDisconnect):
            # Nobody reads it.
            return Response(status_code=499)
        except SwarmError as error:
            return error_response(error)

    return guarded


async def _unknown(request: Request, _: Exception) -> Response:
    return error_response(
        ApiError(
            f"There is no {request.method} {request.url.path}.",
            "POST /v1/chat/completions, GET /v1/models, /health and /metrics are there.",
            404,
            "unknown_url",
        )
    )


async def _failed(_: Request, error: Exception) -> Response:
    return error_response(error)


def _model(service: ModelService, name: str) -> dict[str, Any]:
    created = int(service.path.stat().st_mtime)
    return {"id": name, "object": "model", "created": created, "owned_by": "local"}


_BACKLOG = 128
# Requests end immediately; what is left is a client that doesn't read its answer.
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
