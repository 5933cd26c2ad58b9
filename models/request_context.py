"""What surrounds a request to a model: text, waits, clock, refusals, and models put in its place.

Models and limiters find it in one context variable, since no request hands them anything.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from pydantic_ai.exceptions import ModelAPIError

from .registry import RegisteredModel

__all__ = [
    "Key",
    "RequestContext",
    "Streaming",
    "TextSink",
    "Timer",
    "Waiting",
    "current_request",
    "request_context",
]

Key = tuple[str, ...]


class TextSink(Protocol):
    """Gets the beginning of each answer to a request, and the pieces of its text."""

    def begin(self) -> None: ...
    def add(self, piece: str) -> None: ...


@dataclass(frozen=True, slots=True)
class Streaming:
    """Where the text of requests goes.

    Attributes:
        of_providers: Whether providers are asked to stream.
        of_calls: Whether the arguments of tool calls go there, too.
    """

    sink: TextSink
    of_providers: bool
    of_calls: bool


@dataclass(frozen=True, slots=True)
class Waiting:
    """A wait for a provider that begins.

    Attributes:
        seconds: How long it will take; None where nobody knows.
        words: What the provider says, where the wait is long enough to ask for it.
    """

    provider: str
    why: str
    seconds: float | None = None
    words: str = field(default="", compare=False)

    @property
    def reason(self) -> str:
        """Why, in the provider's words too."""
        return f"{self.why}: {self.words}" if self.words else self.why


@dataclass(slots=True)
class Timer:
    """Seconds that the work inside has waited for providers so far.

    Attributes:
        waits: Begin and end of each wait, in seconds since the Unix epoch.
        deadline: What bounds the work.
    """

    waited_s: float = 0.0
    waits: list[tuple[float, float]] = field(default_factory=list[tuple[float, float]])
    deadline: asyncio.Timeout | None = None


@dataclass(frozen=True, slots=True)
class RequestContext:
    """What surrounds the requests that are made here.

    Attributes:
        streaming: Where their text goes; None where models are asked for whole answers.
        on_wait: Gets each wait for a provider when it begins, and None when it is over.
        timer: Notes those waits.
        refused: What refused for good in this run; None outside of one. Another run may come with
            another key, or after the account was topped up.
        overrides: Models and agents that stand in a tier's place, by the tier.
    """

    streaming: Streaming | None = None
    on_wait: Callable[[Waiting | None], None] | None = None
    timer: Timer | None = None
    refused: dict[Key, ModelAPIError] | None = None
    overrides: Mapping[str, RegisteredModel] = field(default_factory=dict[str, RegisteredModel])


_context: ContextVar[RequestContext] = ContextVar("model_request", default=RequestContext())  # noqa: B039 - frozen


def current_request() -> RequestContext:
    """Return what surrounds the requests that are made here."""
    return _context.get()


@contextmanager
def request_context(**changes: Any) -> Generator[None]:
    """Change fields of it for the requests inside."""
    token = _context.set(replace(_context.get(), **changes))
    try:
        yield
    finally:
        _context.reset(token)
