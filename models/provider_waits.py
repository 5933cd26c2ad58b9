"""Time that a request waits for its provider, and providers that refuse for good."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from pydantic_ai.exceptions import ModelAPIError

from ..metrics.clock import run_time

__all__ = [
    "Timer",
    "Waiting",
    "note_refused",
    "refused_once",
    "refused_providers",
    "timed",
    "waiting",
    "waits_to",
]


Key = tuple[str, ...]

# `refused_providers` opens it around a run; `LimitedModel` writes and reads it. Another run may
# come with another key, or after the account was topped up.
_refused: ContextVar[dict[Key, ModelAPIError] | None] = ContextVar("refused", default=None)


@contextmanager
def refused_providers() -> Generator[None]:
    """Remember, for the requests inside, what refuses for good."""
    token = _refused.set({})
    try:
        yield
    finally:
        _refused.reset(token)


def note_refused(key: Key, error: ModelAPIError) -> None:
    """Remember a refusal, if this is within a run."""
    if (refused := _refused.get()) is not None:
        refused.setdefault(key, error)


def refused_once(*keys: Key) -> ModelAPIError | None:
    """Return the refusal that one of these met before in this run, if any."""
    refused = _refused.get() or {}
    return next((refused[key] for key in keys if key in refused), None)


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

    def __str__(self) -> str:
        """Return the wait in words for people."""
        seconds = f", {self.seconds:.0f} s" if self.seconds is not None else ""
        return f"waiting for {self.provider} ({self.reason}){seconds}"


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


# `timed` sets the timer, and `waits_to` the listener, around the requests of an attempt;
# `waiting` finds both in the limiter, which no request hands anything to.
_timer: ContextVar[Timer | None] = ContextVar("timer", default=None)
_listener: ContextVar[Callable[[Waiting | None], None] | None] = ContextVar(
    "wait_events", default=None
)


@contextmanager
def waits_to(listener: Callable[[Waiting | None], None]) -> Generator[None]:
    """Let a listener hear of the waits inside: when one begins, and with None when it is over."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


@asynccontextmanager
async def timed(seconds: float | None, timer: Timer | None = None) -> AsyncGenerator[Timer]:
    """Bound the work inside; waits for providers don't count, but are noted in the timer.

    Raises:
        TimeoutError: The work took longer.
    """
    async with asyncio.timeout(seconds) as deadline:
        timer = timer or Timer()
        timer.deadline = deadline
        token = _timer.set(timer)
        try:
            yield timer
        finally:
            _timer.reset(token)


@contextmanager
def waiting(wait: Waiting) -> Generator[None]:
    """Tell of a wait, and stop the clock of the deadline around it."""
    timer, emit = _timer.get(), _listener.get()
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
