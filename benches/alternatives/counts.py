"""Counts that need no run: lines a user writes, answers paid for twice, answers lost."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .scripted import Request

__all__ = ["count_lines", "paid_twice", "under_way"]


def count_lines(texts: Iterable[str]) -> int:
    """Count the lines that are neither empty nor a comment alone; a docstring is one."""
    lines = (line.strip() for text in texts for line in text.splitlines())
    return sum(bool(line) and not line.startswith("#") for line in lines)


def paid_twice(requests: Sequence[Request], killed_s: float) -> int:
    """Count the answers that were there before a kill and were asked for again after it."""
    before = {r.key for r in requests if r.answered_s is not None and r.answered_s < killed_s}
    return len(before & {r.key for r in requests if r.asked_s > killed_s})


def under_way(requests: Sequence[Request], killed_s: float) -> int:
    """Count the requests that had no answer when the kill came."""
    return sum(
        r.asked_s < killed_s and (r.answered_s is None or r.answered_s > killed_s) for r in requests
    )
