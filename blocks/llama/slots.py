"""Which slot a prompt goes to, and how much of it needs no computing. Pure decisions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from .api import GenerateRequest
from .jobs import Job, TextBuffer

if TYPE_CHECKING:
    from .drafting.lookup import Lookup
    from .sampling import Sampler

__all__ = [
    "FRESH_TOKENS",
    "ActiveRequest",
    "Placement",
    "Slot",
    "admission_order",
    "common_prefix",
    "parts_to_read",
    "place",
    "should_wait",
]

WORTH_COPYING = 32
"""Tokens of a common prefix from which copying another slot's cache, or waiting, pays off."""
FRESH_TOKENS = 2
"""Tokens at a prompt's end that are always computed: the last for its logits, and one beside it
because a single token takes another path through llama.cpp, with other rounding."""


@dataclass
class ActiveRequest:
    """A request that holds a slot.

    Attributes:
        cached: Tokens of the prompt that were in the cache when it started.
        started: When it got its slot, in seconds of the engine's clock.
        written: Tokens it has written so far.
        next: The token it wrote last, which is to be computed next.
        lookup: Guesses what it writes next; None where nothing is guessed.
    """

    job: Job
    prompt: list[int]
    cached: int
    sampler: Sampler
    text: TextBuffer
    started: float
    written: int = 0
    next: int | None = None
    lookup: Lookup | None = None


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
    kept, copied = common_prefix(own.tokens, reusable), common_prefix(best.tokens, reusable)
    if copied - kept < WORTH_COPYING:
        return Placement(own, kept, None)
    return Placement(min(free, key=lambda slot: len(slot.tokens)), copied, best)


def should_wait(slots: Sequence[Slot], prompt: Sequence[int]) -> bool:
    """Whether a busy slot will soon hold much more of this prompt's beginning than any does now."""
    held = max(common_prefix(slot.tokens, prompt) for slot in slots)
    coming = max((common_prefix(slot.run.prompt, prompt) for slot in slots if slot.run), default=0)
    return coming - held >= WORTH_COPYING


def admission_order(request: GenerateRequest, submitted: float) -> tuple[float, float, float]:
    """Return the key by which waiting requests are sorted: the lowest starts first."""
    return -request.priority, math.inf if request.deadline is None else request.deadline, submitted


def parts_to_read(left: Sequence[int], room: int) -> list[int]:
    """Share a batch among prompts, in their order.

    No prompt is left with a lone last token: see `FRESH_TOKENS`.

    Args:
        left: How many tokens of each are still to be computed, at least 1.
        room: Tokens of the batch, at least 2.

    Returns:
        How many tokens of each to compute now.
    """
    parts: list[int] = []
    for tokens in left:
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
