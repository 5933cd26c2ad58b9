"""The time while a run goes on: it passes steadily, whatever the machine's clock is set to.

It begins as the machine's clock says, and passes as the seconds do that the system counts. So what
is measured between two moments of a process is right, and no later moment comes before an earlier.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

__all__ = ["RunClock", "clock_of_run", "run_time"]


def _wall() -> float:
    # Looked up at each call: a test may set the clock.
    return time.time()


@dataclass(frozen=True, slots=True)
class RunClock:
    """Seconds since the Unix epoch, as they were known when the run began here.

    Attributes:
        began_at: What the machine's clock said, or the last moment that is known of the run.
        began_s: What the steady seconds were then.
        ahead_s: How far that moment was ahead of the machine's clock.
    """

    began_at: float
    began_s: float
    ahead_s: float = 0.0
    steady: Callable[[], float] = field(default=time.monotonic)

    @classmethod
    def begin(cls, not_before: float = 0.0, steady: Callable[[], float] = time.monotonic):
        """Begin at the time that it is, or where the run had come to, if that is later."""
        now = _wall()
        began_at = max(now, not_before)
        return cls(began_at, steady(), began_at - now, steady)

    def now(self) -> float:
        """Return the time."""
        return self.began_at + self.steady() - self.began_s

    def set_by_s(self) -> float:
        """Return how far the machine's clock was set since, forwards; below 0 if backwards.

        A machine that sleeps is the same as one whose clock is set forwards: it did nothing.
        """
        return _wall() - self.now() + self.ahead_s


_clock: ContextVar[RunClock | None] = ContextVar("swarm_run_clock", default=None)
_going_on: list[RunClock] = []
"""For threads and screens that are outside the run's context."""


def run_time() -> float:
    """Return the time of the run that this code belongs to; without a run, the machine's."""
    clock = _clock.get() or (_going_on[-1] if _going_on else None)
    return clock.now() if clock else _wall()


@contextmanager
def clock_of_run(not_before: float = 0.0) -> Generator[RunClock]:
    """Have `run_time` pass steadily inside, and begin at a moment or later."""
    clock = RunClock.begin(not_before)
    token = _clock.set(clock)
    _going_on.append(clock)
    try:
        yield clock
    finally:
        _going_on.remove(clock)
        _clock.reset(token)
