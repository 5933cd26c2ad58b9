"""A request in the engine, and the text written for it so far."""

from __future__ import annotations

import codecs
from collections.abc import Callable
from dataclasses import dataclass

from ...text import encoded
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


class TextBuffer:
    """Bytes the model has written, and the stop strings that end them."""

    def __init__(self, stop: tuple[str, ...] = ()) -> None:
        """Begin without text.

        Raises:
            InputError: A stop string has half of a surrogate pair.
        """
        self._stops = [encoded(text, "stop string") for text in stop if text]
        self._longest = max(map(len, self._stops), default=0)
        self._bytes = bytearray()
        self._taken = 0
        self._decoder = _decoder()

    def add(self, piece: bytes) -> bool:
        """Append; return whether that completed a stop string, and cut the text before it."""
        start = max(0, len(self._bytes) - self._longest)
        self._bytes += piece
        hits = [at for stop in self._stops if (at := self._bytes.find(stop, start)) >= 0]
        if hits:
            del self._bytes[min(hits) :]
        return bool(hits)

    def take(self, *, ended: bool = False) -> str:
        """Return what can't change any more and was not taken before.

        Until the text has `ended`, its last bytes may be the beginning of a stop string.
        """
        held = 0 if ended else max(0, self._longest - 1)
        end = max(self._taken, len(self._bytes) - held)
        fresh, self._taken = bytes(self._bytes[self._taken : end]), end
        return self._decoder.decode(fresh)

    @property
    def text(self) -> str:
        """The text so far; a character that is not complete yet is left out."""
        return _decoder().decode(bytes(self._bytes))


def _decoder() -> codecs.IncrementalDecoder:
    return codecs.getincrementaldecoder("utf-8")("replace")
