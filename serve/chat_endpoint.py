"""POST /v1/chat/completions."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from ..blocks.llama.asking import streamed_text
from ..errors import SwarmError
from .api_errors import ApiError, api_error
from .chat_answer import ChatAnswer, chat_answer
from .chat_body import read_chat_body
from .chat_request import ChatRequest, chat_request
from .connection import Lines, read_body, while_connected
from .service import ModelService

__all__ = ["complete_chat", "require_model"]


async def complete_chat(service: ModelService, request: Request) -> Response:
    """Answer a chat request, whole or as server-sent events.

    Raises:
        SwarmError: It can't be answered.
        DisconnectedError: The client left.
    """
    try:
        body = read_chat_body(await read_body(request))
        require_model(service, body.model)
        # A grammar of many tools takes a while, in which others are answered.
        make = partial(chat_request, max_tokens=service.max_tokens, style=service.style)
        chat = await asyncio.to_thread(make, body)
    except SwarmError:
        service.metrics.end("refused")
        raise
    created = int(time.time())
    if chat.stream:
        answer = ChatAnswer(chat.names, body.model, created, chat.usage)
        return Lines(_events(service, chat, answer), "text/event-stream", _error_event)
    done = await while_connected(request.receive, service.generate(chat.generate))
    return JSONResponse(chat_answer(done, chat.names, model=body.model, created=created))


def require_model(service: ModelService, name: str) -> None:
    """Check that a client asks for the model that is served.

    Raises:
        ApiError: It asks for another.
    """
    if name not in service.names:
        raise ApiError(
            f"The model {name[:100]!r} is not served here.",
            f"Name {service.names[0]!r}.",
            404,
            "model_not_found",
            "model",
        )


async def _events(
    service: ModelService, chat: ChatRequest, answer: ChatAnswer
) -> AsyncGenerator[str]:
    async with streamed_text(service.generate, chat.generate) as streamed:
        begun = False
        async for piece in streamed.pieces:
            if not begun:
                yield _event(answer.begin())
                begun = True
            chunks = answer.add(piece) if isinstance(piece, str) else answer.end(piece)
            for chunk in chunks:
                yield _event(chunk)
    yield "data: [DONE]\n\n"


def _event(data: dict[str, Any]) -> str:
    return f"data: {json.dumps(data, ensure_ascii=False)}\n\n"


def _error_event(error: BaseException) -> str:
    return _event(api_error(error).body())
