"""A server that speaks OpenAI's chat API on loopback and answers as a test says."""

from __future__ import annotations

import json
import socket
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

__all__ = ["Asked", "ProviderServer", "Reply", "forget_limits", "provider_server"]

_LONGEST_HOLD_S = 30.0
_PIECE = 24
"""Characters of an answer that an event of a stream has."""


@dataclass(frozen=True)
class Asked:
    """A chat request as the server got it; the names of its headers are in lower case."""

    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]

    @property
    def prompt(self) -> str:
        """What the last message of the user says."""
        users = [m for m in self.body.get("messages", []) if m.get("role") == "user"]
        return _text(users[-1].get("content")) if users else ""

    @property
    def texts(self) -> list[str]:
        """What each message says."""
        return [_text(message.get("content")) for message in self.body.get("messages", [])]

    @property
    def is_plan(self) -> bool:
        """Whether a plan is asked for: as the call of a tool, or as JSON of a schema."""
        form = self.body.get("response_format") or {}
        return bool(self.body.get("tools")) or form.get("type") == "json_schema"


@dataclass(frozen=True)
class Reply:
    """What the server answers.

    Attributes:
        tool_args: The arguments of a call of the first tool that is offered; a text is sent as it
            is. They are the answer's text where no tool is offered.
        tool_name: The tool to call instead of the first one.
        finish_reason: "tool_calls" with a call and "stop" without where it is None.
        error: What the body has under "error" for a status that isn't 200.
        raw: The body as it is, sent with `status` and as `kind`.
        kind: The content type of a raw body.
        cut: The connection ends in the middle of the body.
        hold: The answer waits until it is set, at most 30 seconds.
        piece: Characters that an event of a stream has.
        before_piece: Called before each event of a stream is sent, with its number from 0; what it
            raises ends the connection there.
    """

    text: str = ""
    tool_args: dict[str, Any] | str | None = None
    tool_name: str | None = None
    finish_reason: str | None = None
    refusal: str | None = None
    status: int = 200
    error: dict[str, Any] | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    raw: bytes | None = None
    kind: str = "application/json"
    cut: bool = False
    hold: threading.Event | None = None
    piece: int = _PIECE
    before_piece: Callable[[int], None] | None = None
    input_tokens: int = 100
    output_tokens: int = 50


@dataclass
class ProviderServer:
    """What a test reads of the server.

    Attributes:
        url: Where the API is, up to and with `/v1`.
        models: The names that `GET /v1/models` lists; None: the server has no such route.
        models_status: The status that the routes of models answer with.
        models_page: What they answer with, whatever was asked, in place of JSON.
        asked: The chat requests in the order of their arrival.
        most_at_once: The most chat requests that were under way at once.
        broken: What `reply` raised, or the server; the end of `provider_server` raises the first.
    """

    reply: Callable[[Asked], Reply]
    url: str
    models: tuple[str, ...] | None = None
    models_status: int = 200
    models_page: str = ""
    asked: list[Asked] = field(default_factory=list[Asked])
    most_at_once: int = 0
    broken: list[Exception] = field(default_factory=list[Exception])
    _at_once: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _closing: threading.Event = field(default_factory=threading.Event)

    def name(self, model: str = "strong-model") -> str:
        """The name of a model of this server, as settings have it."""
        return f"openai:{model}@{self.url}"

    def close(self) -> None:
        """Let no answer wait any longer."""
        self._closing.set()

    def answer(self, asked: Asked) -> Reply:
        """Say what a request is answered, once it may be."""
        with self._lock:
            self.asked.append(asked)
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            reply = self.reply(asked)
            if reply.hold:
                self._wait(reply.hold)
        except Exception as error:  # noqa: BLE001 - it is raised where the test can see it
            self.broken.append(error)
            # Clients don't repeat what has this status.
            reply = Reply(status=400, error={"message": f"reply raised {error!r}"})
        finally:
            # Before the answer is sent: its reader may ask again at once.
            with self._lock:
                self._at_once -= 1
        return reply

    def _wait(self, hold: threading.Event) -> None:
        end = time.monotonic() + _LONGEST_HOLD_S
        while not hold.wait(0.05) and not self._closing.is_set() and time.monotonic() < end:
            pass


@contextmanager
def provider_server(
    reply: Callable[[Asked], Reply],
    *,
    models: tuple[str, ...] | None = None,
    models_status: int = 200,
    port: int = 0,
) -> Generator[ProviderServer]:
    """Serve the API inside.

    Args:
        reply: Says what a request is answered; called in the request's own thread.
        models: The names that `GET /v1/models` lists; None: the server has no such route.
        models_status: The status that the routes of models answer with.
        port: Where it listens; 0: at any port that is free.
    """
    with _Http(port) as http:
        url = f"http://127.0.0.1:{http.server_port}/v1"
        if not port:
            forget_limits(f"127.0.0.1:{http.server_port}")
        http.provider = ProviderServer(reply, url, models, models_status)
        thread = threading.Thread(target=http.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield http.provider
        finally:
            http.shutdown()
            http.hang_up()
            http.provider.close()
            thread.join()
    if http.provider.broken:
        raise http.provider.broken[0]


def forget_limits(provider: str) -> None:
    """Forget what this process has learned of a provider: another one had its port before."""
    if limiters := sys.modules.get("prefect_swarm.models.limiter"):
        for name in [name for name in limiters._limiters if name[0] == provider]:
            del limiters._limiters[name]


class _Http(ThreadingHTTPServer):
    provider: ProviderServer
    # Requests of many steps arrive at the same moment; the system has those refused wait a second.
    request_queue_size = 512

    def __init__(self, port: int) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self._connections: set[socket.socket] = set()

    def process_request(self, request: Any, client_address: Any) -> None:
        self._connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        super().shutdown_request(request)
        self._connections.discard(request)

    def hang_up(self) -> None:
        """End the connections that clients keep open."""
        for connection in list(self._connections):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Keep what broke; a client that was cancelled has hung up, which breaks nothing."""
        error = sys.exception()
        if isinstance(error, Exception) and not isinstance(error, OSError):
            self.provider.broken.append(error)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    @property
    def _provider(self) -> ProviderServer:
        assert isinstance(self.server, _Http)
        return self.server.provider

    def do_POST(self) -> None:
        text = self.rfile.read(int(self.headers.get("content-length", 0)))
        if urlsplit(self.path).path != "/v1/chat/completions":
            self._send(_failed(404, f"There is no route {self.path}."))
            return
        try:
            body = json.loads(text)
        except ValueError:
            self._send(_failed(400, "The request is not JSON."))
            return
        headers = {name.lower(): value for name, value in self.headers.items()}
        asked = Asked(self.path, headers, body)
        reply = self._provider.answer(asked)
        written = _written(asked, reply)
        if reply.before_piece is None or not written.is_stream:
            self._send(written, reply.headers, cut=reply.cut)
        else:
            self._stream(written, reply.before_piece)

    def do_GET(self) -> None:
        models, status = self._provider.models, self._provider.models_status
        path = unquote(urlsplit(self.path).path)
        if page := self._provider.models_page:
            self._send(_Written(page.encode()))
            return
        if models is None or not f"{path}/".startswith("/v1/models/"):
            self._send(_failed(404, f"There is no route {path}."))
            return
        name = path.removeprefix("/v1/models").removeprefix("/")
        if status != 200:
            self._send(_failed(status, f"status {status}"))
        elif not name:
            listed = {"object": "list", "data": [_model(model) for model in models]}
            self._send(_Written(_json(listed)))
        elif name in models:
            self._send(_Written(_json(_model(name))))
        else:
            self._send(_failed(404, f"There is no model {name!r}.", "model_not_found"))

    def _send(
        self, written: _Written, headers: Mapping[str, str] | None = None, *, cut: bool = False
    ) -> None:
        self._send_head(written, headers or {})
        self.wfile.write(written.body[: len(written.body) // 2] if cut else written.body)
        self.close_connection = self.close_connection or cut

    def _send_head(self, written: _Written, headers: Mapping[str, str]) -> None:
        self.send_response(written.status)
        self.send_header("content-type", written.kind)
        self.send_header("content-length", str(len(written.body)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def _stream(self, written: _Written, before_piece: Callable[[int], None]) -> None:
        self._send_head(written, {})
        try:
            for number, event in enumerate(written.body.split(b"\n\n")[:-1]):
                before_piece(number)
                self.wfile.write(event + b"\n\n")
        except ConnectionError:
            self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        pass


@dataclass(frozen=True)
class _Written:
    """A response as it is sent."""

    body: bytes
    status: int = 200
    kind: str = "application/json"

    @property
    def is_stream(self) -> bool:
        """Whether it is sent event by event."""
        return self.kind == "text/event-stream"


def _written(asked: Asked, reply: Reply) -> _Written:
    if reply.raw is not None:
        return _Written(reply.raw, reply.status, reply.kind)
    if reply.status != 200 and reply.error is not None:
        return _Written(_json({"error": reply.error}), reply.status)
    if reply.status != 200:
        return _failed(reply.status, f"status {reply.status}")
    if not asked.body.get("stream"):
        return _Written(_json(_completion(asked, reply)))
    events = [f"data: {json.dumps(chunk)}\n\n" for chunk in _chunks(asked, reply)]
    return _Written("".join([*events, "data: [DONE]\n\n"]).encode(), kind="text/event-stream")


def _failed(status: int, message: str, code: str | None = None) -> _Written:
    return _Written(_json({"error": {"message": message, "type": "error", "code": code}}), status)


def _completion(asked: Asked, reply: Reply) -> dict[str, Any]:
    message = {"role": "assistant", **_answer(asked, reply)}
    choice = {"index": 0, "message": message, "finish_reason": _finish_reason(message, reply)}
    return {**_head(asked, "chat.completion"), "choices": [choice], "usage": _usage(reply)}


def _chunks(asked: Asked, reply: Reply) -> Iterator[dict[str, Any]]:
    """The same answer in the pieces of a stream."""
    head = _head(asked, "chat.completion.chunk")
    answer = _answer(asked, reply)

    def chunk(delta: dict[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
        return {**head, "choices": [choice]}

    yield chunk({"role": "assistant"})
    for name in ("content", "refusal"):
        yield from (chunk({name: piece}) for piece in _pieces(answer[name] or "", reply.piece))
    for call in answer.get("tool_calls", []):
        function = call["function"]
        opened = {**call, "index": 0, "function": {**function, "arguments": ""}}
        yield chunk({"tool_calls": [opened]})
        for piece in _pieces(function["arguments"], reply.piece):
            yield chunk({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]})
    yield chunk({}, _finish_reason(answer, reply))
    if (asked.body.get("stream_options") or {}).get("include_usage"):
        yield {**head, "choices": [], "usage": _usage(reply)}


def _head(asked: Asked, kind: str) -> dict[str, Any]:
    return {"id": "chatcmpl-1", "object": kind, "created": 0, "model": asked.body.get("model", "")}


def _answer(asked: Asked, reply: Reply) -> dict[str, Any]:
    """The parts of an answer's message that a stream has too."""
    text, args = reply.text, reply.tool_args
    arguments = json.dumps(args) if isinstance(args, dict) else args
    offered = [tool["function"]["name"] for tool in asked.body.get("tools") or []]
    names = [reply.tool_name] if reply.tool_name else offered
    answer: dict[str, Any] = {"content": text, "refusal": reply.refusal}
    if arguments is None:
        return answer
    if not names:
        return {**answer, "content": arguments}
    function = {"name": names[0], "arguments": arguments}
    calls = [{"id": "call_1", "type": "function", "function": function}]
    return {**answer, "content": text or None, "tool_calls": calls}


def _finish_reason(answer: Mapping[str, Any], reply: Reply) -> str:
    return reply.finish_reason or ("tool_calls" if "tool_calls" in answer else "stop")


def _usage(reply: Reply) -> dict[str, int]:
    total = reply.input_tokens + reply.output_tokens
    return {
        "prompt_tokens": reply.input_tokens,
        "completion_tokens": reply.output_tokens,
        "total_tokens": total,
    }


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "tests"}


def _json(value: object) -> bytes:
    return json.dumps(value).encode()


def _pieces(text: str, size: int) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]


def _text(content: object) -> str:
    """The text of a message, whose content is a text, parts or nothing."""
    if isinstance(content, list):
        return "\n".join(part.get("text", "") for part in content)
    return str(content or "")
