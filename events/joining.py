"""A model's pieces of text, joined to few events. Pure, but for the clock it is given."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from .kinds import Tell, TextEvent

__all__ = ["TextJoiner"]

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

    tell: Tell
    event: TextEvent
    every_s: float = _EVERY_S
    clock: Callable[[], float] = time.monotonic
    _request: int = field(init=False, default=0)
    _held: list[str] = field(init=False, default_factory=list[str])
    _bytes: int = field(init=False, default=0)
    _closed: bool = field(init=False, default=False)
    _told_at: float = field(init=False, default=float("-inf"))

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
        if self.clock() - self._told_at >= self.every_s:
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
        self._told_at = self.clock()
        tokens = -(-self._bytes // _BYTES_PER_TOKEN)
        changes = {"text": text, "request": max(1, self._request), "tokens": tokens}
        self.tell(self.event.model_copy(update=changes))
