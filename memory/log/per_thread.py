"""Something of its own for each thread and process, such as a database connection."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from typing import Generic, TypeVar

__all__ = ["PerThread"]

_T = TypeVar("_T")

# What belongs to the process that this one was forked from: closing it here could do harm there.
_inherited: list[object] = []


class _Held(Generic[_T]):
    """Closed with the thread that held it."""

    def __init__(self, thing: _T, close: Callable[[_T], None]) -> None:
        self.thing = thing
        self.pid = os.getpid()
        self._close = close

    def close(self) -> None:
        if self.pid == os.getpid():
            self._close(self.thing)

    def __del__(self) -> None:
        self.close()


class PerThread(Generic[_T]):
    """Opens one for each thread that asks, and closes it with the thread or with all others.

    Args:
        open_one: Makes one.
        close_one: Closes one, from any thread, and also if it is closed already.
    """

    def __init__(self, open_one: Callable[[], _T], close_one: Callable[[_T], None]) -> None:
        self._open = open_one
        self._close = close_one
        self._local = threading.local()
        self._all: weakref.WeakSet[_Held[_T]] = weakref.WeakSet()
        self.closed = False

    def get(self) -> _T:
        """Return this thread's own."""
        held: _Held[_T] | None = getattr(self._local, "held", None)
        if held is not None and held.pid == os.getpid():
            return held.thing
        if held is not None:
            _inherited.append(held)
            self._all.discard(held)
        self._local.held = held = _Held(self._open(), self._close)
        self._all.add(held)
        return held.thing

    def drop(self) -> None:
        """Close this thread's own; the next call opens another."""
        self._local.held = None

    def close(self) -> None:
        """Close those of all threads of this process."""
        self.closed = True
        for held in list(self._all):
            held.close()
