"""Events on their way to a reader in the run's own process, which may be slow or gone."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

from .kinds import CutEvent, RunEvent, TextEvent

__all__ = ["EventBuffer"]

_MOST = 10_000


class EventBuffer:
    """Takes events without ever waiting for who reads them. Any threads may use it.

    A reader that is half of `most` events behind hears no more texts until it has caught up; what
    is more than `most` events behind loses the oldest. A `CutEvent` says so where they are missing.
    """

    def __init__(self, most: int = _MOST, wake: Callable[[], None] = lambda: None) -> None:
        """Take the bound; `wake` is called when there is something to take, by who puts it."""
        self._most = most
        self._wake = wake
        self._events: deque[RunEvent] = deque()
        self._ready = threading.Condition()
        self._closed = False
        self._behind = False

    def put(self, event: RunEvent) -> None:
        """Add an event; nothing is added once it is closed."""
        with self._ready:
            if self._closed or (self._behind and isinstance(event, TextEvent)):
                return
            if isinstance(event, TextEvent) and len(self._events) >= self._most // 2:
                self._behind = True
                event = CutEvent.in_place_of(event, "text")
            if len(self._events) >= self._most:
                self._events.popleft()
                self._events[0] = CutEvent.in_place_of(self._events[0], "all")
            self._events.append(event)
            self._ready.notify_all()
        self._wake()

    def close(self) -> None:
        """Take no more events; what is there can still be taken."""
        with self._ready:
            self._closed = True
            self._ready.notify_all()
        self._wake()

    def take(self) -> list[RunEvent]:
        """Return what is there and remove it."""
        with self._ready:
            taken = [*self._events]
            self._events.clear()
            self._behind = False
            return taken

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to take."""
        return not self._events

    def wait(self) -> list[RunEvent]:
        """Block until there are events and take them; [] once it is closed and empty."""
        with self._ready:
            self._ready.wait_for(lambda: self._events or self._closed)
        return self.take()
