"""Events on their way to a reader in the run's own process, which may be slow or gone."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from .events import CutEvent, EventSink, RunEvent, TextEvent

__all__ = ["EventBuffer", "TextJoiner"]


_EVERY_S = 0.2
_BYTES_PER_TOKEN = 4


@dataclass(slots=True)
class TextJoiner:
    """Tells the text of an attempt's requests, at most once every `every_s` seconds.

    Attributes:
        tell: Hears of the text.
        event: What all its events have in common.
        clock: Gives the time in seconds; where it begins doesn't matter.
    """

    emit: EventSink
    event: TextEvent
    every_s: float = _EVERY_S
    clock: Callable[[], float] = time.monotonic
    _request: int = field(init=False, default=0)
    _held: list[str] = field(init=False, default_factory=list[str])
    _bytes: int = field(init=False, default=0)
    _closed: bool = field(init=False, default=False)
    _emitted_at: float = field(init=False, default=float("-inf"))

    def begin(self) -> None:
        """Begin the text of another request."""
        self.flush()
        self._request += 1
        self._bytes = 0

    def add(self, piece: str) -> None:
        """Take a piece of the text."""
        if not piece or self._closed:
            return
        self._held.append(piece)
        self._bytes += len(piece.encode())
        if self.clock() - self._emitted_at >= self.every_s:
            self.flush()

    def close(self) -> None:
        """Tell what is held, and nothing that comes later."""
        self.flush()
        self._closed = True

    def flush(self) -> None:
        """Tell what is held."""
        if not self._held:
            return
        text = "".join(self._held)
        self._held.clear()
        self._emitted_at = self.clock()
        tokens = -(-self._bytes // _BYTES_PER_TOKEN)
        changes = {"text": text, "request": max(1, self._request), "tokens": tokens}
        self.emit(self.event.model_copy(update=changes))


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
