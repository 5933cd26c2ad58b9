"""How many threads compute beside what else does. Pure."""

from __future__ import annotations

__all__ = ["decide_threads"]

_HOLD = 0.5
"""So much of a core may be missing before a thread goes that computes already."""
_ADD = 0.2
"""So much of a core may be missing when a thread comes. Less than `_HOLD`: a load in between
changes nothing, so the count doesn't go back and forth."""


def decide_threads(cores: int, announced: int, foreign: float | None, current: int) -> int:
    """Decide the count of threads, at least 1 and at most `cores`.

    Args:
        cores: Cores that the process may use.
        announced: Cores that our own neighbours keep busy, by their own account.
        foreign: Cores that other processes kept busy lately, by measurement; those of our own
            neighbours are among them. None if it is not known.
        current: Threads that compute now.
    """
    load = max(float(announced), foreign or 0.0)
    if foreign is None and not announced:
        return min(max(1, current), cores)
    free = cores - load
    for threads in range(cores, 1, -1):
        missing = threads - free
        if missing <= (_HOLD if threads <= current else _ADD):
            return threads
    return 1
