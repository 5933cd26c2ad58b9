"""Which slot a prompt goes to, and how much of it needs no computing. Pure decisions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from .jobs import Job, TextBuffer

if TYPE_CHECKING:
    from .sampling import Sampler

__all__ = ["ActiveRequest", "Placement", "Slot", "place", "should_wait"]

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
    reusable = prompt[:-FRESH_TOKENS] if reuse else ()
    free = [slot for slot in slots if slot.run is None]
    own = max(free, key=lambda slot: (_common_prefix(slot.tokens, reusable), -len(slot.tokens)))
    best = max(slots, key=lambda slot: _common_prefix(slot.tokens, reusable))
    kept, copied = _common_prefix(own.tokens, reusable), _common_prefix(best.tokens, reusable)
    if copied - kept < WORTH_COPYING:
        return Placement(own, kept, None)
    return Placement(min(free, key=lambda slot: len(slot.tokens)), copied, best)


def should_wait(slots: Sequence[Slot], prompt: Sequence[int]) -> bool:
    """Whether a busy slot will soon hold much more of this prompt's beginning than any does now."""
    held = max(_common_prefix(slot.tokens, prompt) for slot in slots)
    coming = max((_common_prefix(slot.run.prompt, prompt) for slot in slots if slot.run), default=0)
    return coming - held >= WORTH_COPYING


def _common_prefix(held: Sequence[int], wanted: Sequence[int]) -> int:
    length = 0
    for token, wanted_token in zip(held, wanted, strict=False):
        if token != wanted_token:
            break
        length += 1
    return length
