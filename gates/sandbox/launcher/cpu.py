"""How long the processes of a sandbox have computed together, from looks at them. Pure.

The kernel adds a process's time to its parent's when the parent waits for it, and forgets it
where nobody does (`SIGCHLD` ignored). What is gone and was in no parent's sum is estimated from
the looks: a process that was seen computing and is gone at the next look is taken to have computed
for as long as lies between the two. Shorter ones are seen seldom, which evens that out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

__all__ = ["CpuTime", "Times"]


class Times(NamedTuple):
    """Seconds of a process and of its children that it has waited for; whether it computes now."""

    own: float
    waited: float
    computing: bool


class CpuTime:
    """The sum over all processes that ever were, brought up to date by each look."""

    def __init__(self) -> None:
        self._before: Mapping[object, Times] | None = None
        self._gone = 0.0
        self._collected = 0.0

    def look(self, seen: Mapping[object, Times], elapsed_s: float) -> float:
        """Return the seconds so far; `seen` is what there is now, by what tells processes apart."""
        # What was before the first look is no sign of anything.
        known = seen if self._before is None else self._before
        for process, times in known.items():
            if process not in seen:
                self._gone += times.waited + _at_the_end(times, elapsed_s)
        for process, times in seen.items():
            before = known.get(process)
            self._collected += times.waited - (before.waited if before else 0.0)
        self._before = dict(seen)
        alive = sum(times.own + times.waited for times in seen.values())
        return alive + max(0.0, self._gone - self._collected)


def _at_the_end(last: Times, elapsed_s: float) -> float:
    return max(elapsed_s, last.own + elapsed_s / 2) if last.computing else last.own
