"""The time while a run goes on: a steady clock, and stretches of time, each of a kind."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Literal

from pydantic import Field

from ..data_types import Finite, Frozen, Moment

__all__ = [
    "RunClock",
    "RunTime",
    "Stretch",
    "TimeKind",
    "clock_of_run",
    "run_time",
    "seconds_by_kind",
]


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
    offset_s: float = 0.0
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
        return _wall() - self.now() + self.offset_s


_clock: ContextVar[RunClock | None] = ContextVar("swarm_run_clock", default=None)
"""The clock of the run around; `clock_of_run` alone sets and resets it.

Models, tools and events read the time, and none of them gets the run's context.
"""
_going_on: list[RunClock] = []
"""Clocks of all runs of the process, for threads and screens outside a run's context."""


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


TimeKind = Literal[
    "start",
    "planning",
    "orchestrator",
    "model",
    "provider",
    "slot",
    "delay",
    "gate",
    "tool",
    "person",
    "memory",
    "answer",
    "server",
    "prefect",
    "earlier",
    "stopped",
]
"""What time can go to; `measures.meanings` has each in words."""


class Stretch(Frozen):
    """Some time, and what it went to.

    Attributes:
        step: The step that it is of; "" if it is of the plan, the answer or the run.
        attempt: The attempt that it is of, counted from 1; 0 if it is of none.
    """

    kind: TimeKind
    step: str = ""
    attempt: int = 0
    started_at: Moment
    ended_at: Moment

    @property
    def seconds(self) -> float:
        """How long it is."""
        return self.ended_at - self.started_at


class RunTime(Frozen):
    """Where the time of a run went, from its objective to its answer.

    At each moment it is why the run wasn't over yet: what the steps that ended last had been
    waiting for, followed back to the beginning. Work in parallel to that is left out.

    Attributes:
        stretches: They follow each other without a gap or an overlap.
        seconds: Their seconds by kind, the most first.
        path: The steps that they belong to, in order.
        queued_s: Seconds from when Prefect was to start the run until it began: for a worker, a
            place in its pool or queue, or the server itself. They aren't part of the stretches.
    """

    began_at: Moment
    ended_at: Moment
    stretches: tuple[Stretch, ...] = ()
    seconds: dict[TimeKind, Finite] = Field(default_factory=dict[TimeKind, float])
    path: tuple[str, ...] = ()
    queued_s: Finite = 0.0

    @classmethod
    def of(
        cls,
        stretches: tuple[Stretch, ...],
        began_at: float,
        ended_at: float,
        queued_s: float = 0.0,
    ) -> RunTime:
        """Sum stretches up."""
        return cls(
            queued_s=queued_s,
            began_at=began_at,
            ended_at=ended_at,
            stretches=stretches,
            seconds=seconds_by_kind(stretches, began_at, ended_at),
            path=tuple(dict.fromkeys(each.step for each in stretches if each.step)),
        )

    @property
    def total_s(self) -> float:
        """Seconds from the objective to the answer."""
        return self.ended_at - self.began_at


def seconds_by_kind(
    stretches: Iterable[Stretch], since: float, until: float
) -> dict[TimeKind, float]:
    """Return the seconds of each kind between two moments, the most first."""
    sums: dict[TimeKind, float] = {}
    for each in stretches:
        seconds = min(each.ended_at, until) - max(each.started_at, since)
        if seconds > 0:
            sums[each.kind] = sums.get(each.kind, 0.0) + seconds
    return dict(sorted(sums.items(), key=lambda item: -item[1]))
