"""What a run's time went to: stretches of it, each of a kind that a reader knows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from pydantic import Field

from ..frozen import Frozen
from ..untrusted.figures import Finite, Moment

__all__ = ["RunTime", "Stretch", "TimeKind", "seconds_by_kind"]

TimeKind = Literal[
    "start",
    "planning",
    "model",
    "provider",
    "slot",
    "delay",
    "gate",
    "tool",
    "person",
    "memory",
    "answer",
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
    waiting for, followed back to the beginning. What went on beside that isn't in here.

    Attributes:
        stretches: They follow each other without a gap or an overlap.
        seconds: Their seconds by kind, the most first.
        path: The steps that they belong to, in order.
    """

    began_at: Moment
    ended_at: Moment
    stretches: tuple[Stretch, ...] = ()
    seconds: dict[TimeKind, Finite] = Field(default_factory=dict[TimeKind, float])
    path: tuple[str, ...] = ()

    @classmethod
    def of(cls, stretches: tuple[Stretch, ...], began_at: float, ended_at: float) -> RunTime:
        """Sum stretches up."""
        return cls(
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
