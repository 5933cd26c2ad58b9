"""Bound several texts together. Pure."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["cut", "shares"]

_SHORT = 60  # below this a count of what was left out would take more than it tells


def shares(lengths: Sequence[int], limit: int) -> list[int]:
    """Divide `limit` characters among texts so that none is cut before a longer one is.

    Each gets an even share; what short ones leave over goes to the others.
    """
    given = [0] * len(lengths)
    left = max(0, limit)
    by_length = sorted(range(len(lengths)), key=lambda n: lengths[n])
    for done, n in enumerate(by_length):
        given[n] = min(lengths[n], left // (len(lengths) - done))
        left -= given[n]
    return given


def cut(text: str, limit: int) -> str:
    """Return the text in at most `limit` characters, saying how many were left out."""
    if len(text) <= limit:
        return text
    mark = f" … [{len(text) - limit} more characters]" if limit >= _SHORT else "…"
    return text[: max(0, limit - len(mark))].rstrip() + mark[: max(0, limit)]
