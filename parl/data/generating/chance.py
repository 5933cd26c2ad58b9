"""Random generators that depend on the seed alone, on every machine and Python version."""

from __future__ import annotations

import random

__all__ = ["seeded_random"]


def seeded_random(seed: int) -> random.Random:
    """Return a new random generator that shares no state with others."""
    return random.Random(seed)  # noqa: S311 (it chooses words, no secrets)
