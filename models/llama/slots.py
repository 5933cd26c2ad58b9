"""Slots: the requests that are computed in parallel, which one comes next, and where. Pure.

It is imported without llama.cpp.
"""

from __future__ import annotations

import codecs
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from ...text import encoded
from .api import GeneratedText, GenerateRequest

if TYPE_CHECKING:
    from .native import Sampler

__all__ = [
    "FRESH_TOKENS",
    "ActiveRequest",
    "Job",
    "Placement",
    "Slot",
    "TextBuffer",
    "admission_order",
    "common_prefix",
    "parts_to_read",
    "place",
    "should_wait",
]


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


WORTH_COPYING = 32
"""Tokens of a common prefix from which copying another slot's cache, or waiting, pays off."""
FRESH_TOKENS = 2
"""Tokens at a prompt's end that are always computed: the last for its logits, and one next to it
because a single token takes another path through llama.cpp, with other rounding."""


@dataclass
class ActiveRequest:
    """A request that holds a slot.

    Attributes:
        cached: Tokens of the prompt that were in the cache when it started.
        started: When it got its slot, in seconds of the engine's clock.
        written: Tokens it has written so far.
        next: The token it wrote last, which is to be computed next.
    """

    job: Job
    prompt: list[int]
    cached: int
    sampler: Sampler
    text: TextBuffer
    started: float
    written: int = 0
    next: int | None = None


@dataclass
class Slot:
    """A sequence with a cache of its own.

    Attributes:
        tokens: The prompt's tokens in the cache. Generated tokens are never reused: computed singly
            they differ by rounding from the same tokens in a prompt.
        run: The request that holds it.
    """

    sequence: int
    tokens: list[int] = field(default_factory=list[int])
    run: ActiveRequest | None = None


class Placement(NamedTuple):
    """The slot to use, how many of its tokens to keep, and where to copy them from, if anywhere."""

    slot: Slot
    keep: int
    source: Slot | None


def place(slots: Sequence[Slot], prompt: Sequence[int], *, reuse: bool) -> Placement:
    """Choose a free slot, so that as little as possible is computed again.

    Args:
        slots: All of them; at least one is free.
        prompt: The tokens to come.
        reuse: Whether this model's cache can be cut back to a prompt's beginning.
    """
    reusable = prompt[:-FRESH_TOKENS] if reuse else prompt[:0]
    free = [slot for slot in slots if slot.run is None]
    own = max(free, key=lambda slot: (common_prefix(slot.tokens, reusable), -len(slot.tokens)))
    best = max(slots, key=lambda slot: common_prefix(slot.tokens, reusable))
    shared, copied = common_prefix(own.tokens, reusable), common_prefix(best.tokens, reusable)
    if copied - shared < WORTH_COPYING:
        return Placement(own, shared, None)
    return Placement(min(free, key=lambda slot: len(slot.tokens)), copied, best)


def should_wait(slots: Sequence[Slot], prompt: Sequence[int]) -> bool:
    """Whether a busy slot will soon hold much more of this prompt's beginning than any does now."""
    held = max(common_prefix(slot.tokens, prompt) for slot in slots)
    coming = max((common_prefix(slot.run.prompt, prompt) for slot in slots if slot.run), default=0)
    return coming - held >= WORTH_COPYING


def admission_order(request: GenerateRequest, submitted: float) -> tuple[float, float, float]:
    """Return the key by which waiting requests are sorted: the lowest starts first."""
    return -request.priority, math.inf if request.deadline is None else request.deadline, submitted


def parts_to_read(remaining: Sequence[int], room: int) -> list[int]:
    """Share a batch among prompts, in their order.

    No prompt is left with a lone last token: see `FRESH_TOKENS`.

    Args:
        remaining: How many tokens of each are still to be computed, at least 1.
        room: Tokens of the batch, at least 2.

    Returns:
        How many tokens of each to compute now.
    """
    parts: list[int] = []
    for tokens in remaining:
        part = min(tokens, room)
        part -= part > 0 and tokens - part == 1
        parts.append(part)
        room -= part
    return parts


def common_prefix(held: Sequence[int], wanted: Sequence[int]) -> int:
    """Return how many tokens two prompts have in common at their beginning."""
    low, high = 0, min(len(held), len(wanted))
    # Python compares whole lists much faster than it goes through their items.
    if held[:high] == wanted[:high]:
        return high
    while low < high:
        middle = (low + high + 1) // 2
        if held[low:middle] == wanted[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
