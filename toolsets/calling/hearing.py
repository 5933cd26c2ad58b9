"""Calls of tools are heard while they are made, where somebody listens."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar

from ...result import ToolCall

__all__ = ["hear_calls", "tell_call"]

# Set around an attempt; its tools find it, which no request hands anything to.
_listener: ContextVar[Callable[[ToolCall], None] | None] = ContextVar("call_listener", default=None)


@contextmanager
def hear_calls(listener: Callable[[ToolCall], None]) -> Generator[None]:
    """Let a listener hear of the calls that are made inside, when they begin and end."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def tell_call(call: ToolCall) -> None:
    """Tell whoever listens of a call."""
    if (listener := _listener.get()) is not None:
        listener(call)
