"""How many threads an engine computes with, by what else computes."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from ...openmp import announced
from .api import usable_cores

__all__ = [
    "AdaptiveThreads",
    "ForeignLoad",
    "LoadSample",
    "busy_seconds",
    "cores_between",
    "decide_threads",
    "is_quiet",
    "read_busy_seconds",
    "take_sample",
    "was_quiet",
]


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


_LEAST_S = 0.5
"""Seconds between two looks; a look costs some 50 µs."""
_WINDOW_S = 1.5
_QUIET = 0.2
"""Of a core: less is what a machine does that has nothing to do, such as a server that waits."""
_GLANCE_S = 0.1
_TICKS_PER_S = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100


class LoadSample(NamedTuple):
    """How much was computed until now.

    Attributes:
        at: The time in seconds, of a clock that only goes forward.
        busy: Seconds that all processes have computed.
        own: Seconds that this process has.
    """

    at: float
    busy: float
    own: float


class ForeignLoad:
    """Measures the cores that other processes keep busy, over the last 0.5 to 2 seconds."""

    def __init__(
        self,
        read_busy: Callable[[], float | None] | None = None,
        read_own: Callable[[], float] = time.process_time,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin without a sample.

        Args:
            read_busy: Gives the seconds that all processes have computed; None if not known.
            read_own: Gives the seconds that this process has.
            clock: Gives the time in seconds.
        """
        self._read_busy = read_busy or read_busy_seconds
        self._read_own = read_own
        self._clock = clock
        self._samples: deque[LoadSample] = deque()
        self._cores: float | None = None

    def cores(self) -> float | None:
        """Return the cores that others keep busy; None if that is not known yet, or never."""
        now = self._clock()
        if self._samples and now - self._samples[-1].at < _LEAST_S:
            return self._cores
        if (busy := self._read_busy()) is None:
            return None
        while self._samples and now - self._samples[0].at > _WINDOW_S + _LEAST_S:
            self._samples.popleft()
        newest = LoadSample(now, busy, self._read_own())
        self._cores = cores_between(self._samples[0], newest) if self._samples else None
        self._samples.append(newest)
        return self._cores


def take_sample() -> LoadSample | None:
    """Look how much was computed until now; None where that is not known."""
    busy = read_busy_seconds()
    return None if busy is None else LoadSample(time.monotonic(), busy, time.process_time())


def was_quiet(first: LoadSample | None, last: LoadSample | None) -> bool:
    """Whether nothing but this process computed between two looks, as far as is known."""
    return first is not None and last is not None and cores_between(first, last) <= _QUIET


def is_quiet() -> bool:
    """Look for a tenth of a second whether nothing but this process computes."""
    first = take_sample()
    time.sleep(_GLANCE_S)
    return was_quiet(first, take_sample())


def cores_between(first: LoadSample, last: LoadSample) -> float:
    """Return how many cores other processes kept busy between two looks."""
    others = (last.busy - first.busy) - (last.own - first.own)
    return max(0.0, others / max(last.at - first.at, 1e-9))


def read_busy_seconds() -> float | None:
    """Read how long the cores that this process may use have computed; None where unknown."""
    try:
        text = Path("/proc/stat").read_text("ascii")
        return busy_seconds(text, os.sched_getaffinity(0))
    except (OSError, ValueError, AttributeError):
        return None


def busy_seconds(stat: str, cores: set[int]) -> float:
    """Read the seconds that some cores have computed from Linux's `/proc/stat`."""
    ticks = 0
    for line in stat.splitlines():
        name, *figures = line.split()
        if name.startswith("cpu") and name[3:].isdecimal() and int(name[3:]) in cores:
            user, nice, system, _, _, irq, softirq, *_ = map(int, figures)
            ticks += user + nice + system + irq + softirq
    return ticks / _TICKS_PER_S


class AdaptiveThreads:
    """Sets the threads of a context; it belongs to the context's own thread."""

    def __init__(
        self,
        set_threads: Callable[[int], None],
        fixed: int | None = None,
        *,
        cores: int | None = None,
        foreign: Callable[[], float | None] | None = None,
    ) -> None:
        """Begin with all cores, which is what a new context computes with.

        Args:
            set_threads: Sets the count from the next batch on.
            fixed: What the user set; then nothing is ever changed.
            cores: Cores that this process may use; None finds out.
            foreign: Gives the cores that other processes keep busy; None measures it.
        """
        self._set_threads = set_threads
        self._fixed = fixed is not None
        self._cores = usable_cores() if cores is None else cores
        self._foreign = foreign or ForeignLoad().cores
        self._current = self._cores

    def adapt(self) -> None:
        """Change the count if what else computes has changed; cheap enough for every step."""
        if self._fixed or self._cores == 1:
            return
        wanted = decide_threads(self._cores, announced(), self._foreign(), self._current)
        if wanted != self._current:
            self._set_threads(wanted)
            self._current = wanted
