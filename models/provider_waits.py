"""Time that a request waits for its provider, and providers that refuse for good."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager

from pydantic_ai.exceptions import ModelAPIError

from ..metrics.clock import run_time
from .request_context import Key, Timer, Waiting, current_request, request_context

__all__ = [
    "note_refused",
    "refused_once",
    "refused_providers",
    "timed",
    "waiting",
    "waits_to",
]


@contextmanager
def refused_providers() -> Generator[None]:
    """Remember, for the requests inside, what refuses for good."""
    with request_context(refused={}):
        yield


def note_refused(key: Key, error: ModelAPIError) -> None:
    """Remember a refusal, if this is within a run."""
    if (refused := current_request().refused) is not None:
        refused.setdefault(key, error)


def refused_once(*keys: Key) -> ModelAPIError | None:
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
