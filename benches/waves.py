"""Waves, with which the schedule is compared: waves, each of which waits for the last of the one
before."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from simulate import Job

__all__ = ["wave_makespan"]


def wave_makespan(jobs: Sequence[Job], slots: int) -> float:
    """Run all steps that are ready as one wave, then all that have become ready, and so on."""
    waiting = list(jobs)
    over: set[str] = set()
    now = 0.0
    while waiting:
        wave = [job for job in waiting if over.issuperset(job.upstream)]
        waiting = [job for job in waiting if not over.issuperset(job.upstream)]
        now += _list_scheduled(wave, slots)
        over.update(job.id for job in wave)
    return now


def _list_scheduled(wave: Sequence[Job], slots: int) -> float:
    # Longest first is the best that a wave can do without trying every order.
    free = [0.0] * min(slots, len(wave))
    for duration in sorted((job.duration for job in wave), reverse=True):
        heapq.heapreplace(free, free[0] + duration)
    return max(free)
