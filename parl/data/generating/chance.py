"""Randomness that a seed alone decides, on every machine and Python version."""

from __future__ import annotations

import random

__all__ = ["seeded"]


def seeded(seed: int) -> random.Random:
    """Return a generator of its own; nothing else draws from it."""
    return random.Random(seed)  # noqa: S311 (it chooses words, no secrets)
