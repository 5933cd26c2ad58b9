"""A request in the engine, and the text written for it so far."""

from __future__ import annotations

import codecs
from collections.abc import Callable
from dataclasses import dataclass, field

from .api import GeneratedText, GenerateRequest

__all__ = ["Job", "TextBuffer"]


@dataclass(eq=False)
class Job:
    """One request and where its answer goes. `reply` may be called from any thread, once.

    Attributes:
        submitted: When it was submitted, in seconds of the engine's clock.
        cancelled: Set when the caller no longer waits; the engine drops it at its next step.
    """

    request: GenerateRequest
    reply: Callable[[GeneratedText | BaseException], None]
    submitted: float
    cancelled: bool = False


@dataclass
class TextBuffer:
    """Bytes the model has written, and the stop strings that end them."""

    stop: tuple[str, ...] = ()
    _bytes: bytearray = field(default_factory=bytearray)

    def add(self, piece: bytes) -> bool:
        """Append; return whether that completed a stop string, and cut the text before it."""
        stops = [text.encode() for text in self.stop if text]
        start = max(0, len(self._bytes) - max(map(len, stops), default=0))
        self._bytes += piece
        hits = [at for stop in stops if (at := self._bytes.find(stop, start)) >= 0]
        if hits:
            del self._bytes[min(hits) :]
        return bool(hits)

    @property
    def text(self) -> str:
        """The text so far; a character that is not complete yet is left out."""
        return codecs.getincrementaldecoder("utf-8")("replace").decode(bytes(self._bytes))
