"""Calls of a stream that share an index, told apart. Pure, but for `keep_calls_apart`.

A stream's pieces of calls are put together by their index. Ollama, Gemini's compatible service and
proxies give each call of an answer the same one, so that two calls become one of both names and
both arguments.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic_ai.exceptions import ModelAPIError
from pydantic_ai.messages import ModelResponseStreamEvent
from pydantic_ai.models import StreamedResponse

from .lenient_json import is_json

__all__ = ["MOST_CALLS", "CallPiece", "CallsApart", "keep_calls_apart", "too_many_calls"]

MOST_CALLS = 500
"""In one answer. An attempt may make 50, and models ask for a hundred at once at most; the client
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
