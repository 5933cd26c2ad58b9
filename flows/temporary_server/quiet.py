"""When what works off a queue may be ended: nothing is left, or nothing moves."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["LONGEST_S", "STUCK_S", "until_quiet"]

_QUIET_S = 0.3
LONGEST_S = 60.0
STUCK_S = 10.0
"""A client that keeps its stream open, or an event that was given up, is not waited for longer."""


def until_quiet(
    left: Callable[[], int], clock: Callable[[], float], wait: Callable[[], None]
) -> None:
    """Return when nothing has been left for a moment, or what is left hasn't changed for long.

    Args:
        left: Counts what is left to do. It may be nothing between two things that come in.
        clock: Seconds.
        wait: Lets some time pass.
    """
    begin = clock()
    before, since = left(), begin
    while clock() - since < (STUCK_S if before else _QUIET_S) and clock() - begin < LONGEST_S:
        wait()
        now = left()
        if now != before:
            before, since = now, clock()
