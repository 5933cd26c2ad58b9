"""What an attempt's time goes to beside its model's answer, its gates and its tools."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ...measures.stretch import Stretch
from ...tasks.subagent.request import SubagentResult
from .noted import NotedTime

__all__ = ["AttemptTimes", "other_samples"]


@dataclass(slots=True)
class AttemptTimes:
    """When an attempt could begin, when it was launched, and what else it took.

    One that waits for a person in its middle is launched again; its times go on.
    """

    ready_at: float
    launched_at: float
    other: NotedTime = field(default_factory=NotedTime)


def other_samples(best: SubagentResult, results: Iterable[SubagentResult]) -> list[Stretch]:
    """Return the time of the models that wrote the samples which don't count."""
    return [
        Stretch(kind="model", started_at=result.started_at, ended_at=result.ended_at)
        for result in results
        if result is not best and result.started_at < result.ended_at
    ]
