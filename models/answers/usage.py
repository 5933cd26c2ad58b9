"""Usage of an answer, repairs by the reader, and bounds on its size."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import fields, replace
from typing import Any, cast

import httpx2
from pydantic_ai.messages import (
    BinaryContent,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ThinkingPart,
    ToolCallPart,
)
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_core import to_json

from ...inputs.pictures import made_picture
from ...text import tokens_of, whole_characters, without_surrogates

__all__ = [
    "ESTIMATED",
    "MENDED",
    "REASONED",
    "UNMADE_CALL",
    "bound_answers",
    "make_whole",
    "measured",
    "note",
    "noted",
    "notes",
]


ESTIMATED = "estimated_requests"
"""Where the details of a usage count the requests whose tokens are estimated."""


def measured(
    answer: ModelResponse, sent: Sequence[ModelMessage], asked: ModelRequestParameters
) -> ModelResponse:
    """Return an answer whose usage counts something: what is not there is estimated and marked.

    Args:
        answer: What a model wrote.
        sent: The conversation that it read.
        asked: The tools and the output that it was offered, which it reads as well.
    """
    usage = answer.usage
    written = _written(answer)
    lacks_input = usage.input_tokens <= 0
    lacks_output = usage.output_tokens <= 0 and bool(written)
    if not lacks_input and not lacks_output:
        return answer
    estimated = replace(
        usage,
        input_tokens=_tokens_read(sent, asked) if lacks_input else usage.input_tokens,
        output_tokens=tokens_of(written) if lacks_output else max(0, usage.output_tokens),
        unmeasured_requests=0,
        details={**usage.details, ESTIMATED: 1},
    )
    return replace(answer, usage=estimated)


def _written(answer: ModelResponse) -> str:
    texts: list[str] = []
    for part in answer.parts:
        match part:
            case TextPart() | ThinkingPart():
                texts.append(part.content)
            case ToolCallPart():
                texts += (part.tool_name, part.args_as_json_str())
            case _:
                pass
    return "".join(texts)


def _read(sent: Sequence[ModelMessage], asked: ModelRequestParameters) -> str:
    texts: list[str] = []
    for message in sent:
        if isinstance(message, ModelRequest):
            texts += [_text(getattr(part, "content", "")) for part in message.parts]
        else:
            texts.append(_written(message))
    # Each request is sent with the instructions of the last one alone.
    requests = [message for message in sent if isinstance(message, ModelRequest)]
    texts.append((requests[-1].instructions if requests else None) or "")
    for tool in (*asked.function_tools, *asked.output_tools):
        texts += (tool.name, tool.description or "", _text(tool.parameters_json_schema))
    return "".join(texts)


def _tokens_read(sent: Sequence[ModelMessage], asked: ModelRequestParameters) -> int:
    contents = (
        getattr(part, "content", None)
        for message in sent
        if isinstance(message, ModelRequest)
        for part in message.parts
    )
    pictures = (
        made_picture(each.data)
        for content in contents
        for each in (cast("list[Any]", content) if isinstance(content, list) else [content])
        if isinstance(each, BinaryContent)
    )
    return tokens_of(_read(sent, asked)) + sum(each.tokens for each in pictures if each)


def _text(content: object) -> str:
    if isinstance(content, list):
        parts = cast("list[Any]", content)
        content = [each for each in parts if not isinstance(each, BinaryContent)]
    return content if isinstance(content, str) else to_json(content, fallback=str).decode()


MENDED = "mended"
"""What was mended in an answer: a list of sentences without their full stop."""
REASONED = "reasoning"
"""By which marks the reasoning in a text was known."""
UNMADE_CALL = "unmade_call"
"""Why a text that is written as a call isn't made one."""


def noted(answer: ModelResponse, name: str, what: str | Iterable[str]) -> ModelResponse:
    """Return an answer with a note; a list goes on with what it has."""
    metadata: dict[str, Any] = {**(answer.metadata or {})}
    if isinstance(what, str):
        metadata[name] = what
    else:
        metadata[name] = [*metadata.get(name, ()), *what]
    return replace(answer, metadata=metadata)


def note(answer: ModelResponse, name: str) -> str:
    """Return the notes of a name in words; "" if an answer has none."""
    return "; ".join(notes(answer, name))


def notes(answer: ModelResponse, name: str) -> list[str]:
    """Return the notes of a name, one by one."""
    found: Any = (answer.metadata or {}).get(name)
    return list(map(str, cast("list[Any]", found) if isinstance(found, list) else [found or ""]))


MOST_BYTES = 8 * 2**20
"""Of an answer in one piece. It is parsed in one go, a third of a second for each million letters;
the longest that models write have half a million."""
_MOST_OBJECTS, _PLAIN = 10_000, 64 * 2**10
"""A client takes half a millisecond for each call; in fewer bytes than these there are not many."""
_MOST_LINES = 1_000
"""Of an event, which has one or two."""
MOST_STREAMED = 64 * 2**20
"""Of a stream, whose events have a few hundred bytes for each word."""


def bound_answers(model: Model) -> None:
    """Have a model's client read no more of an answer; a client that can't is left as it is."""
    client: Any = getattr(getattr(model, "client", None), "_client", None)
    if isinstance(client, httpx2.AsyncClient):
        hooks = client.event_hooks
        # Models may share one client.
        if _bound not in hooks["response"]:
            hooks["response"].append(_bound)
            client.event_hooks = hooks


async def _bound(response: httpx2.Response) -> None:
    kind = response.headers.get("content-type", "")
    if "event-stream" in kind and isinstance(response.stream, httpx2.AsyncByteStream):
        response.stream = _Bounded(response.stream)
        return
    parts: list[bytes] = []
    size = 0
    # As decoded: what is compressed may be a thousand times as large.
    async for part in response.aiter_bytes():
        size += len(part)
        if size > MOST_BYTES:
            await response.aclose()
            parts = [_error(_too_large(MOST_BYTES))]
            break
        parts.append(part)
    body = b"".join(parts)
    if len(body) > _PLAIN and _objects_in(body) > _MOST_OBJECTS:
        body = _error(f"the answer has more than {_MOST_OBJECTS:,} objects")
    # What the client reads next; it has no other way to be given a body.
    response._content = body  # pyright: ignore[reportPrivateUsage]


class _Bounded(httpx2.AsyncByteStream):
    """A stream of events that ends with an error where it is too long."""

    def __init__(self, body: httpx2.AsyncByteStream) -> None:
        self._body = body

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = lines = event = 0
        held: list[bytes] = []
        async for part in self._body:
            size, event = size + len(part), event + len(part)
            held.append(part)
            # A client joins the pieces of a line one by one, and the lines of an event.
            if b"\n" in part:
                whole, end, rest = b"".join(held).rpartition(b"\n")
                yield whole + end
                held = [rest]
                if (blank := max(whole.rfind(b"\n\n"), whole.rfind(b"\n\r\n"))) >= 0:
                    lines, event = 0, len(whole) - blank + len(rest)
                lines += whole.count(b"\n", max(0, blank))
            if size > MOST_STREAMED or event > MOST_BYTES or lines > _MOST_LINES:
                most = MOST_BYTES if event > MOST_BYTES else MOST_STREAMED
                yield b"\n\ndata: " + _error(_too_large(most)) + b"\n\n"
                return
        yield b"".join(held)

    async def aclose(self) -> None:
        await self._body.aclose()


def _objects_in(body: bytes) -> int:
    """Count objects and lists, up to more than are read."""
    try:
        pending: list[Any] = [json.loads(body)]
    except (ValueError, RecursionError):
        return 0
    count = 0
    while pending and count <= _MOST_OBJECTS:
        held = pending.pop()
        if isinstance(held, dict):
            pending += cast("dict[str, Any]", held).values()
        elif isinstance(held, list):
            pending += cast("list[Any]", held)
        else:
            continue
        count += 1
    return count


def _too_large(most: int) -> str:
    return f"the answer has more than {most:,} bytes"


def _error(text: str) -> bytes:
    message = f"{text}, and no more are read"
    return json.dumps({"error": {"message": message, "type": "answer_too_large"}}).encode()


def make_whole(answer: ModelResponse, _: ModelRequestParameters) -> ModelResponse:
    """Return an answer whose texts can all be written as UTF-8."""
    parts = [_whole(part) for part in answer.parts]
    return cast("ModelResponse", _whole(replace(answer, parts=parts)))


def _whole(holder: Any) -> Any:
    """Return a part, or an answer, with whole characters in its texts and its data."""
    changed: dict[str, Any] = {}
    for field in fields(holder):
        value: Any = getattr(holder, field.name)
        if field.name == "parts" or not isinstance(value, str | dict):
            continue
        whole = whole_characters(value) if isinstance(value, str) else without_surrogates(value)
        if whole is not value:
            changed[field.name] = whole
    return replace(holder, **changed) if changed else holder
