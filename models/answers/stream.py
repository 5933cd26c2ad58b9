"""A stream's events as servers really send them, and the reader of whole answers."""

from __future__ import annotations

import json
from codecs import getincrementaldecoder
from collections.abc import AsyncIterator, Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

from pydantic_ai.exceptions import ModelAPIError
from pydantic_ai.messages import ModelResponse, ModelResponseStreamEvent
from pydantic_ai.models import ModelRequestParameters, StreamedResponse

from .call_text import make_calls
from .completion import piece_as_schema, read_end
from .lenient_json import is_json
from .provider_errors import error_in, error_in_piece
from .reasoning import take_reasoning
from .shapes import read_arguments
from .usage import make_whole

if TYPE_CHECKING:
    # Its import takes a second, and not every model is asked by it.
    from openai import AsyncStream

__all__ = [
    "MOST_CALLS",
    "CallPiece",
    "CallsApart",
    "is_event",
    "keep_calls_apart",
    "parsed",
    "read_events",
    "read_response",
    "read_texts",
    "too_many_calls",
]


MOST_CALLS = 500
"""In one answer. An attempt may make 50, and models ask for a hundred together at most; the client
compares each piece of a stream with all calls before it."""


@dataclass(frozen=True, slots=True)
class CallPiece:
    """A piece of a call, as it came, or as it is put together with others of the same key."""

    key: Hashable
    name: str | None = None
    args: str | dict[str, Any] | None = None
    id: str | None = None


@dataclass(slots=True)
class _Open:
    """A call that pieces come to."""

    number: int
    name: str
    id: str
    pieces: list[str] = field(default_factory=list[str])
    has_object: bool = False
    # A piece that names the call again, or begins another one: what comes next says which.
    again: CallPiece | None = None

    @property
    def is_whole(self) -> bool:
        """Whether its arguments are complete, so that nothing more can belong to them."""
        if self.has_object:
            return True
        first, last = (self.pieces[0], self.pieces[-1]) if self.pieces else ("", "")
        # Servers repeat the name with each piece: an object that goes on isn't read each time.
        if first.lstrip()[:1] == "{" and last.rstrip()[-1:] not in ("}", ""):
            return False
        return is_json("".join(self.pieces))

    def add(self, args: str | dict[str, Any] | None) -> None:
        """Take a piece of its arguments, or all of them as an object."""
        if isinstance(args, dict):
            self.has_object = self.has_object or bool(args)
        elif args:
            self.pieces.append(args)


@dataclass(slots=True)
class CallsApart:
    """Gives each call of a stream a key of its own; one object belongs to one stream."""

    _open: dict[int, _Open] = field(default_factory=dict[int, _Open])
    _others: int = 0

    def piece(self, came: CallPiece) -> CallPiece | None:
        """Return a piece under the key of its call; None if it says nothing new.

        Another call begins under an index where a name comes with another id than before, or when
        the arguments so far are whole. What has no number for its key is returned as it is.
        """
        index = came.key
        if not isinstance(index, int):
            return came
        call = self._open.get(index)
        if call is None:
            return self._begin(index, came, 0)
        if came.name and came.id and call.id and came.id != call.id:
            return self._begin_another(index, came)
        if came.name and call.is_whole:
            if not came.args:
                call.again = came
                return None
            return self._begin_another(index, came)
        if call.again is not None and came.args:
            first = call.again
            return self._begin_another(index, replace(came, name=first.name, id=first.id))
        call.add(came.args)
        name = None if came.name == call.name else came.name
        return replace(came, key=_key(index, call.number), name=name)

    def _begin_another(self, index: int, came: CallPiece) -> CallPiece:
        self._others += 1
        return self._begin(index, came, self._others)

    def _begin(self, index: int, came: CallPiece, number: int) -> CallPiece:
        call = self._open[index] = _Open(number, came.name or "", came.id or "")
        call.add(came.args)
        return replace(came, key=_key(index, number))


def too_many_calls(model: str, count: int) -> ModelAPIError:
    """The error for an answer with more calls than are read."""
    return ModelAPIError(
        model, f"The answer has {count:,} calls of tools or more; at most {MOST_CALLS:,} are read."
    )


def keep_calls_apart(stream: StreamedResponse) -> None:
    """Have a stream that wasn't begun yet put the pieces of its calls together one by one."""
    seen: set[Hashable] = set()
    manager, calls = stream._parts_manager, CallsApart()  # pyright: ignore[reportPrivateUsage]
    handle = manager.handle_tool_call_delta

    def handle_apart(
        *,
        vendor_part_id: Hashable | None,
        tool_name: str | None = None,
        args: str | dict[str, Any] | None = None,
        tool_call_id: str | None = None,
        **more: Any,
    ) -> ModelResponseStreamEvent | None:
        piece = calls.piece(CallPiece(vendor_part_id, tool_name, args, tool_call_id))
        if piece is None:
            return None
        seen.add(piece.key)
        if len(seen) > MOST_CALLS:
            raise too_many_calls(stream.model_name, len(seen))
        return handle(
            vendor_part_id=piece.key,
            tool_name=piece.name,
            args=piece.args,
            tool_call_id=piece.id,
            **more,
        )

    manager.handle_tool_call_delta = handle_apart


def _key(index: int, number: int) -> Hashable:
    return index if number == 0 else (index, number)


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
        head = b""
        async for piece in pieces:
            head = (head + piece).lstrip(_BLANKS)
            if len(head) >= _ENOUGH:
                break
        if not is_event(head):
            head += b"".join([piece async for piece in pieces])
            if b"\ndata:" not in head:
                for text in _lines_of_json(head.decode(errors="replace")):
                    yield _Event(text)
                return
        async for event in self._events.aiter_bytes(_with(head, pieces)):
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


async def _with(head: bytes, pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield what a body goes on with; what is not a character in it becomes U+FFFD."""
    decoder = getincrementaldecoder("utf-8")("replace")
    yield decoder.decode(head).encode()
    async for piece in pieces:
        yield decoder.decode(piece).encode()


_Pass = Callable[[ModelResponse, ModelRequestParameters], ModelResponse]

_PASSES: tuple[_Pass, ...] = (make_whole, take_reasoning, make_calls, read_arguments)
"""Each takes the answer that the one before it returned."""


def read_response(answer: ModelResponse, asked: ModelRequestParameters) -> ModelResponse:
    """Return a provider's answer in the form that all of the package reads.

    Args:
        answer: What the provider's client made of it.
        asked: The tools and the output that the request offered.

    Raises:
        ModelAPIError: The answer is an error of the provider, or was broken off.
    """
    return read_texts(read_end(answer, asked), asked)


def read_texts(answer: ModelResponse, asked: ModelRequestParameters) -> ModelResponse:
    """Return an answer whose end is known, with its texts and calls in their one form.

    Raises:
        ModelAPIError: It has more calls than are read.
    """
    if (calls := len(answer.tool_calls)) > MOST_CALLS:
        raise too_many_calls(answer.model_name or "", calls)
    for give_form in _PASSES:
        answer = give_form(answer, asked)
    return answer
