"""How many threads compute beside what else does. Pure.

Threads wait for each other after every layer, so a thread that shares its core holds up all. Where
others keep a few cores busy, it is better to leave those to them. Where others want more than about
half of the cores, it isn't: every thread gets its share of the time, and fewer threads would get
less of it.
"""

from __future__ import annotations

__all__ = ["decide_threads"]

_HOLD = 0.5
"""So much of a core may be missing before a thread goes that computes already."""
_ADD = 0.2
"""So much of a core may be missing when a thread comes. Less than `_HOLD`: a load in between
changes nothing, so the count doesn't go back and forth."""
_CROWDED = 0.5
"""Cores above a half of all that others may want before all compute, more or less `_MARGIN`."""
_MARGIN = 0.2


def decide_threads(cores: int, announced: int, foreign: float | None, current: int) -> int:
    """Decide the count of threads, at least 1 and at most `cores`.

    Args:
        cores: Cores that the process may use.
        announced: Cores that our own neighbours keep busy, by their own account.
        foreign: Cores that other processes kept busy lately, by measurement; those of our own
            neighbours are among them. None if it is not known.
        current: Threads that compute now.
    """
    current = min(max(1, current), cores)
    if foreign is None and not announced:
        return current
    if _is_crowded(cores, max(float(announced), _wanted(cores, foreign or 0.0, current)), current):
        return cores
    free = cores - max(float(announced), foreign or 0.0)
    for threads in range(cores, 1, -1):
        if threads - free <= (_HOLD if threads <= current else _ADD):
            return threads
    return 1


def _wanted(cores: int, foreign: float, current: int) -> float:
    """Estimate the cores that others would use if they had them.

    Time is shared evenly among what is ready to run. So of `cores` others get the part that they
    are of all that wants to compute, which are they and our own threads.
    """
    return foreign * current / max(cores - foreign, 0.01)


def _is_crowded(cores: int, wanted: float, current: int) -> bool:
    limit = cores / 2 + _CROWDED
    return wanted > (limit - _MARGIN if current == cores else limit + _MARGIN)
