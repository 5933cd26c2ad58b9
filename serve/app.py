"""The server's addresses."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from ..errors import SwarmError
from .access import Access
from .api_errors import ApiError
from .chat_endpoint import complete_chat, require_model
from .connection import DisconnectedError, error_response
from .engine_endpoint import generate_lines, prove
from .service import ModelService

__all__ = ["make_app"]

_Handler = Callable[[Request], Awaitable[Response]]


def make_app(service: ModelService, access: Access) -> Starlette:
    """Make the application that serves a model.

    Args:
        service: What answers.
        access: What requests have to show.
    """

    async def chat(request: Request) -> Response:
        return await complete_chat(service, request)

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

    async def generate(request: Request) -> Response:
        return await generate_lines(service, request)

    async def prove_it(request: Request) -> Response:
        return await prove(access.token, request)

    def route(path: str, handler: _Handler, method: str = "GET") -> Route:
        return Route(path, _guarded(handler, access), methods=[method])

    return Starlette(
        routes=[
            route("/v1/chat/completions", chat, "POST"),
            route("/v1/models", models),
            route("/v1/models/{name:path}", model),
            route("/health", health),
            route("/metrics", metrics),
            route("/engine/generate", generate, "POST"),
            route("/engine/proof", prove_it, "POST"),
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
