"""How busy other processes keep the cores that this one may use."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

__all__ = ["ForeignLoad", "busy_seconds", "read_busy_seconds"]

_LEAST_S = 0.5
"""Seconds between two looks; a look costs some 50 µs."""
_WINDOW_S = 1.5
_TICKS_PER_S = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100


class _Sample(NamedTuple):
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
        self._samples: deque[_Sample] = deque()
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
        newest = _Sample(now, busy, self._read_own())
        self._cores = _between(self._samples[0], newest) if self._samples else None
        self._samples.append(newest)
        return self._cores


def _between(first: _Sample, last: _Sample) -> float:
    others = (last.busy - first.busy) - (last.own - first.own)
    return max(0.0, others / (last.at - first.at))


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
