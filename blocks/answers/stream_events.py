"""The events of a stream as servers really send them, put into the form of OpenAI's schema."""

from __future__ import annotations

import json
from codecs import getincrementaldecoder
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from openai import AsyncStream

from .completion import piece_as_schema
from .provider_errors import error_in, error_in_piece

__all__ = ["is_event", "parsed", "read_events"]

_FIELDS = (b"data:", b"event:", b":", b"id:", b"retry:")
"""What a stream of events begins with."""
_BLANKS = b"\xef\xbb\xbf \t\r\n"
_ENOUGH = 6


@dataclass(frozen=True, slots=True)
class _Event:
    """An event as OpenAI's client takes one."""

    data: str
    fields: object = None
    event: str | None = None

    def json(self) -> object:
        """Return its data, parsed."""
        return self.fields


class _Decoder:
    """Reads events; a body that has none is one event, or one a line where each line is JSON."""

    def __init__(self, events: Any) -> None:
        self._events = events

    async def aiter_bytes(self, pieces: AsyncIterator[bytes]) -> AsyncIterator[Any]:
        """Read the events of a body."""
        begun = b""
        async for piece in pieces:
            begun = (begun + piece).lstrip(_BLANKS)
            if len(begun) >= _ENOUGH:
                break
        if not is_event(begun):
            begun += b"".join([piece async for piece in pieces])
            if b"\ndata:" not in begun:
                for text in _lines_of_json(begun.decode(errors="replace")):
                    yield _Event(text)
                return
        async for event in self._events.aiter_bytes(_with(begun, pieces)):
            yield event


def is_event(start: bytes) -> bool:
    """Say whether a body that begins so is a stream of events."""
    return start.lstrip(_BLANKS).startswith(_FIELDS)


def parsed(text: str) -> object:
    """Return what a text of JSON says; the text where it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def read_events(stream: AsyncStream[Any], model_name: str) -> None:
    """Have a stream that wasn't begun read pieces in any form, and errors as what they are.

    It says in `is_marked` whether it came to the mark of its end.
    """
    marked = cast("Any", stream)
    marked._decoder = _Decoder(marked._decoder)
    marked.is_marked = False
    events = marked._iter_events

    async def read() -> AsyncIterator[_Event]:
        async for event in events():
            if event.data.strip().upper().startswith("[DONE]"):
                marked.is_marked = True
                yield _Event("[DONE]")
            elif (fields := _piece(event.data, model_name)) is not None:
                yield _Event(event.data, fields)

    marked._iter_events = read


def _piece(data: str, model_name: str) -> dict[str, Any] | None:
    """Return the piece that an event's data are; None if they say nothing.

    Raises:
        ModelAPIError: They are an error.
    """
    body = parsed(data) if data.strip() else None
    if isinstance(body, list) and len(cast("list[object]", body)) == 1:
        body = cast("list[object]", body)[0]
    if isinstance(body, str):
        error = error_in(body, model_name)
    elif isinstance(body, Mapping):
        error = error_in_piece(cast("Mapping[str, Any]", body), model_name)
    else:
        return None
    if error is not None:
        error.in_stream = True
        raise error
    return piece_as_schema(cast("Mapping[str, Any]", body))


def _lines_of_json(text: str) -> list[str]:
    lines = [line for line in text.splitlines() if line.strip()]
    are_json = len(lines) > 1 and all(isinstance(parsed(line), dict) for line in lines)
    return lines if are_json else [text][: len(lines)]


async def _with(begun: bytes, pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield what a body goes on with; what is no character in it becomes U+FFFD."""
    decoder = getincrementaldecoder("utf-8")("replace")
    yield decoder.decode(begun).encode()
    async for piece in pieces:
        yield decoder.decode(piece).encode()
