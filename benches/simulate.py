"""The schedule under a virtual clock: how long would a plan take, if every step took this long?"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
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

__all__ = ["Job", "makespan", "ordered_jobs"]


@dataclass(frozen=True, slots=True)
class Job:
    """A step that takes `duration` seconds; `priority` is what the schedule believes of it."""

    id: str
    upstream: tuple[str, ...]
    duration: float
    priority: float = 1.0


def ordered_jobs(
    needs: Mapping[str, tuple[str, ...]], seconds: Mapping[str, float]
) -> tuple[Job, ...]:
    """Return steps in an order in which each comes after those it needs; () with a circle.

    Args:
        needs: The steps that each one needs.
        seconds: How long they take; the priority of each is the path that remains from it.
    """
    after: dict[str, list[str]] = {name: [] for name in needs}
    for name, before in needs.items():
        for each in before:
            after[each].append(name)
    missing = {name: len(before) for name, before in needs.items()}
    order = [name for name, count in missing.items() if not count]
    for name in order:
        for each in after[name]:
            missing[each] -= 1
            if not missing[each]:
                order.append(each)
    if len(order) < len(needs):
        return ()
    left: dict[str, float] = {}
    for name in reversed(order):
        left[name] = seconds.get(name, 0.0) + max((left[e] for e in after[name]), default=0.0)
    return tuple(Job(name, needs[name], seconds.get(name, 0.0), left[name]) for name in order)


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
