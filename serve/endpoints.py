"""Endpoints of the server: chats as OpenAI's clients read them, and requests of other processes."""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
import time
from collections.abc import AsyncGenerator, Collection, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, cast

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from ..errors import InputError, ModelFailedError, SwarmError
from ..models.llama.api import GeneratedText, GenerateRequest, LocalToolCall
from ..models.llama.asking import streamed_text
from ..models.llama.gguf import check_adapter
from ..models.llama.served import answer_to_json, error_to_json, proof, request_from_json
from ..models.llama.tool_calls import HeldText, ParsedAnswer, parse_answer
from .chat_request import ChatRequest, chat_request, read_chat_body
from .connection import ApiError, ClosingError, Lines, api_error, read_body, while_connected
from .service import ModelService

__all__ = [
    "ChatAnswer",
    "chat_answer",
    "complete_chat",
    "generate_lines",
    "prove",
    "require_model",
    "usage_of",
]


async def prove(token: str, request: Request) -> Response:
    """Show a client that this is the server of the record that it has read."""
    body = await _read_json(request)
    return PlainTextResponse(proof(token, str(body.get("challenge", ""))))


async def generate_lines(service: ModelService, request: Request) -> Response:
    """Answer a request to the engine, in lines of JSON; see `served.wire`."""
    lines = _lines(service, await _read_json(request))
    return Lines(lines, "application/x-ndjson", _error_line)


async def _lines(service: ModelService, body: dict[str, Any]) -> AsyncGenerator[str]:
    try:
        request = request_from_json(body.get("request"))
    except InputError as error:
        yield _line({"declined": error.problem})
        return
    try:
        adapter = check_adapter(adapter_name) if (adapter_name := body.get("adapter")) else None
    except SwarmError as error:
        yield _error_line(error)
        return
    sender = _Sender(request, watched=bool(body.get("watched")))
    task = asyncio.ensure_future(service.generate(sender.request, adapter))
    task.add_done_callback(lambda _: sender.events.put_nowait(None))
    try:
        while (event := await sender.events.get()) is not None:
            yield _line(event)
        yield _last_line(task)
    finally:
        task.cancel()
        await asyncio.wait([task])


class _Sender:
    """Turns what the engine calls into events, in the order of the calls."""

    def __init__(self, request: GenerateRequest, *, watched: bool) -> None:
        self.events: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        self._loop = asyncio.get_running_loop()
        self._asked = self._began = time.monotonic()
        self._sent = 0
        self._watches = 0
        self.request = replace(
            request,
            on_start=self._start,
            on_text=self._text,
            watch=self._watch if watched else None,
        )

    # The engine's thread calls these.

    def _start(self, tokens: int, cached: int) -> None:
        self._began = time.monotonic()
        self._put({"started": [tokens, cached, self._began - self._asked]})

    def _text(self, piece: str) -> None:
        self._sent += len(piece)
        self._put({"text": piece})

    def _watch(self, text: str) -> str:
        from ..models.llama.batcher import WATCHED_TOKENS

        self._watches += 1
        tokens, seconds = self._watches * WATCHED_TOKENS, time.monotonic() - self._began
        self._put({"watch": text[self._sent :], "tokens": tokens, "duration_s": seconds})
        # The client decides, and closes the connection.
        return ""

    def _put(self, event: dict[str, Any]) -> None:
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self.events.put_nowait, event)


def _last_line(task: asyncio.Future[GeneratedText]) -> str:
    if error := task.exception():
        return _error_line(error)
    return _line({"done": answer_to_json(task.result())})


def _error_line(error: BaseException) -> str:
    if isinstance(error, ClosingError):
        return _line({"declined": error.problem})
    if not isinstance(error, SwarmError):
        error = ModelFailedError(f"The server failed: {error!r}.", "Try again.")
    return _line({"error": error_to_json(error)})


def _line(event: dict[str, Any]) -> str:
    return json.dumps(event, ensure_ascii=False) + "\n"


async def _read_json(request: Request) -> dict[str, Any]:
    data = await read_body(request)
    with contextlib.suppress(ValueError):
        if isinstance(found := json.loads(data), dict):
            return cast("dict[str, Any]", found)
    raise InputError("The body is not a JSON object.", "Send a JSON object.")


def chat_answer(
    done: GeneratedText, names: Collection[str], *, model: str, created: int
) -> dict[str, Any]:
    """Return the body of a whole answer.

    Args:
        done: What the model wrote.
        names: The tools it was offered.
        model: What the client calls it.
        created: Seconds since 1970.
    """
    parsed = parse_answer(done.text, names)
    message: dict[str, Any] = {"role": "assistant", "content": parsed.text}
    if parsed.calls:
        message["content"] = parsed.text or None
        message["tool_calls"] = [_call(call) for call in parsed.calls]
    choice = {
        "index": 0,
        "message": message,
        "logprobs": None,
        "finish_reason": _finish(done, parsed),
    }
    return {
        **_head("chat.completion", _new_id("chatcmpl"), model, created),
        "choices": [choice],
        "usage": usage_of(done),
    }


def usage_of(done: GeneratedText) -> dict[str, Any]:
    """Return the tokens of an answer."""
    return {
        "prompt_tokens": done.input_tokens,
        "completion_tokens": done.output_tokens,
        "total_tokens": done.input_tokens + done.output_tokens,
        "prompt_tokens_details": {"cached_tokens": done.cached_tokens},
    }


@dataclass
class ChatAnswer:
    """An answer in chunks.

    Attributes:
        names: The tools that the model was offered; calls are in the last chunks.
        model: What the client calls it.
        created: Seconds since 1970.
        usage: Whether a last chunk has the tokens.
    """

    names: Collection[str]
    model: str
    created: int
    usage: bool
    _id: str = field(default_factory=lambda: _new_id("chatcmpl"))
    _held: HeldText = field(default_factory=HeldText)

    def begin(self) -> dict[str, Any]:
        """Return the first chunk."""
        return self._chunk({"role": "assistant", "content": ""})

    def add(self, piece: str) -> Iterator[dict[str, Any]]:
        """Yield the chunks that a piece of text makes possible."""
        fresh = self._held.add(piece) if self.names else piece
        if fresh:
            yield self._chunk({"content": fresh})

    def end(self, done: GeneratedText) -> Iterator[dict[str, Any]]:
        """Yield the last chunks."""
        parsed = parse_answer(done.text, self.names)
        if self.names and (rest := self._held.rest(parsed)):
            yield self._chunk({"content": rest})
        for number, call in enumerate(parsed.calls):
            yield self._chunk({"tool_calls": [{"index": number, **_call(call)}]})
        yield self._chunk({}, _finish(done, parsed))
        if self.usage:
            yield {**self._head(), "choices": [], "usage": usage_of(done)}

    def _chunk(self, delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return {**self._head(), "choices": [choice]}

    def _head(self) -> dict[str, Any]:
        return _head("chat.completion.chunk", self._id, self.model, self.created)


def _head(kind: str, name: str, model: str, created: int) -> dict[str, Any]:
    return {"id": name, "object": kind, "created": created, "model": model}


def _call(call: LocalToolCall) -> dict[str, Any]:
    return {
        "id": call.id or _new_id("call"),
        "type": "function",
        "function": {"name": call.name, "arguments": call.arguments},
    }


def _finish(done: GeneratedText, parsed: ParsedAnswer) -> str:
    return "tool_calls" if parsed.calls and done.finish == "stop" else done.finish


def _new_id(kind: str) -> str:
    return f"{kind}-{secrets.token_hex(12)}"


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
        started = False
        async for piece in streamed.pieces:
            if not started:
                yield _event(answer.begin())
                started = True
            chunks = answer.add(piece) if isinstance(piece, str) else answer.end(piece)
            for chunk in chunks:
                yield _event(chunk)
    yield "data: [DONE]\n\n"


def _event(data: dict[str, Any]) -> str:
    return f"data: {json.dumps(data, ensure_ascii=False)}\n\n"


def _error_event(error: BaseException) -> str:
    return _event(api_error(error).body())
