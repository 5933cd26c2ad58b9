"""The schedule under a virtual clock: how long would a plan take, if every step took this long?"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

from prefect_swarm.plan.compile import CompiledStep
from prefect_swarm.plan.schedule import ConcurrencyLimits, Schedule
from prefect_swarm.plan.schedule_events import (
    AttemptFinished,
    Command,
    Finish,
    Launch,
    PlanExtended,
)

__all__ = ["Job", "makespan"]


@dataclass(frozen=True, slots=True)
class Job:
    """A step that takes `duration` seconds; `priority` is what the schedule believes of it."""

    id: str
    upstream: tuple[str, ...]
    duration: float
    priority: float = 1.0


def makespan(jobs: Sequence[Job], slots: int) -> float:
    """Drive the schedule through the plan, with so many slots, and return when it finishes."""
    durations = {job.id: job.duration for job in jobs}
    schedule = Schedule(ConcurrencyLimits(slots))
    running: list[tuple[float, str]] = []
    now = 0.0
    commands: list[Command] = schedule.advance(
        PlanExtended(
            tuple(CompiledStep(j.id, upstream=j.upstream, priority=j.priority) for j in jobs)
        )
    )
    while not any(isinstance(command, Finish) for command in commands):
        for command in commands:
            if isinstance(command, Launch):
                heapq.heappush(running, (now + durations[command.step], command.step))
        now, step = heapq.heappop(running)
        commands = schedule.advance(AttemptFinished(step, "succeeded"))
    return now
