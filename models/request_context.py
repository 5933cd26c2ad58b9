"""What surrounds a request to a model: text, waits, clock, refusals, and models put in its place.

Models and limiters find it in one context variable, since no request hands them anything.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

from ..metrics.clock import run_time

if TYPE_CHECKING:
    from pydantic_ai.exceptions import ModelAPIError

from .names import RegisteredModel

__all__ = [
    "SharedLimit",
    "Streaming",
    "TextSink",
    "Timer",
    "Waiting",
    "current_request",
    "note_refused",
    "refused_once",
    "refused_providers",
    "request_context",
    "timed",
    "waiting",
    "waits_to",
]


_Key = tuple[str, ...]


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


ITS_TURN = "its turn"
"""Why a request waits that its provider refuses nothing of: others are before it."""


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
class SharedLimit:
    """One of Prefect's global concurrency limits, which requests to a provider take slots of.

    Attributes:
        is_rate: Whether slots come back with time, and not when a request has ended.
    """

    name: str
    is_rate: bool


@dataclass(frozen=True, slots=True)
class _RequestContext:
    """What surrounds the requests that are made here.

    Attributes:
        streaming: Where their text goes; None where models are asked for whole answers.
        on_wait: Gets each wait for a provider when it begins, and None when it is over.
        timer: Notes those waits.
        refused: What refused for good in this run; None outside of one. Another run may come with
            another key, or after the account was topped up.
        overrides: Models and agents that stand in a tier's place, by the tier.
        limits: Limits that other processes share, by the provider.
    """

    streaming: Streaming | None = None
    on_wait: Callable[[Waiting | None], None] | None = None
    timer: Timer | None = None
    refused: dict[_Key, ModelAPIError] | None = None
    overrides: Mapping[str, RegisteredModel] = field(default_factory=dict[str, RegisteredModel])
    limits: Mapping[str, SharedLimit] = field(default_factory=dict[str, SharedLimit])


_context: ContextVar[_RequestContext] = ContextVar("model_request", default=_RequestContext())  # noqa: B039 - frozen


def current_request() -> _RequestContext:
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


@contextmanager
def refused_providers() -> Generator[None]:
    """Remember, for the requests inside, what refuses for good."""
    with request_context(refused={}):
        yield


def note_refused(key: _Key, error: ModelAPIError) -> None:
    """Remember a refusal, if this is within a run."""
    if (refused := current_request().refused) is not None:
        refused.setdefault(key, error)


def refused_once(*keys: _Key) -> ModelAPIError | None:
    """Return the refusal that one of these met before in this run, if any."""
    refused = current_request().refused or {}
    return next((refused[key] for key in keys if key in refused), None)


@contextmanager
def waits_to(sink: Callable[[Waiting | None], None]) -> Generator[None]:
    """Pass on the waits inside: each when it begins, and None when it is over."""
    with request_context(on_wait=sink):
        yield


@asynccontextmanager
async def timed(seconds: float | None, timer: Timer | None = None) -> AsyncGenerator[Timer]:
    """Bound the work inside; waits for providers don't count, but are noted in the timer.

    Raises:
        TimeoutError: The work took longer.
    """
    async with asyncio.timeout(seconds) as deadline:
        timer = timer or Timer()
        timer.deadline = deadline
        with request_context(timer=timer):
            yield timer


@contextmanager
def waiting(wait: Waiting) -> Generator[None]:
    """Tell of a wait, and stop the clock of the deadline around it."""
    timer, emit = current_request().timer, current_request().on_wait
    now = asyncio.get_running_loop().time
    began = now()
    deadline = timer.deadline if timer else None
    ends = deadline.when() if deadline else None
    if deadline and ends is not None:
        deadline.reschedule(None)
    if emit:
        emit(wait)
    try:
        yield
    finally:
        waited = now() - began
        if timer:
            timer.waited_s += waited
            timer.waits.append((run_time() - waited, run_time()))
        if deadline and ends is not None and not deadline.expired():
            deadline.reschedule(ends + waited)
        if emit:
            emit(None)
