"""Metrics of a run: critical steps, critical path, slack, parallelism and speedup. Pure.

CriticalSteps = Σ_t (S_main(t) + max_i S_sub,i(t)) is Kimi K2.5's measure (arXiv 2602.02276),
stage by stage. A run here has no stages to wait for, so the inner maximum becomes the longest path
through the executed DAG, each step weighing its model calls; with one stage of independent steps
the two are the same number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..measures.metrics import Metrics

__all__ = ["StepRun", "critical_path", "measure", "slacks"]


@dataclass(frozen=True, slots=True)
class StepRun:
    """Measurements of one step that ran.

    Attributes:
        upstream: Ids of the steps it waited for; those that never ran are ignored.
        work_s: Seconds of work over all its attempts, without the time it waited for a model.
        calls: Model calls over all its attempts.
        wait_s: Seconds over all its attempts that it waited for a model.
    """

    id: str
    upstream: tuple[str, ...]
    started_at: float
    ended_at: float
    work_s: float
    calls: int
    wait_s: float = 0.0


def measure(
    runs: Sequence[StepRun], orchestrator_calls: int, total_s: float = 0.0, stopped_s: float = 0.0
) -> Metrics:
    """Measure a run.

    Args:
        runs: The steps that ran, each after those it depends on.
        orchestrator_calls: Model calls for planning and synthesis.
        total_s: Seconds from the objective to the answer.
        stopped_s: Seconds between the first step's start and the last step's end in which no
            process worked on the run.
    """
    seconds = {run.id: run.work_s for run in runs}
    calls = {run.id: float(run.calls) for run in runs}
    work_s = sum(seconds.values())
    path_s = max(_longest_paths(runs, seconds)[0].values(), default=0.0)
    path = critical_path(runs)
    longest_calls = max(_longest_paths(runs, calls)[0].values(), default=0.0)
    first = min((run.started_at for run in runs), default=0.0)
    until = max((run.ended_at for run in runs), default=0.0)
    makespan_s = max(0.0, until - first - stopped_s)
    return Metrics(
        critical_steps=orchestrator_calls + int(longest_calls),
        makespan_s=makespan_s,
        critical_path_s=path_s,
        work_s=work_s,
        parallelism=work_s / path_s if path_s else 0.0,
        speedup=work_s / makespan_s if makespan_s else 0.0,
        wait_s=sum(run.wait_s for run in runs),
        critical_wait_s=sum(run.wait_s for run in runs if run.id in path),
        total_s=total_s,
    )


def slacks(runs: Sequence[StepRun]) -> dict[str, float]:
    """Seconds each step could have taken longer without a longer critical path."""
    seconds = {run.id: run.work_s for run in runs}
    head, tail = _longest_paths(runs, seconds)
    longest = max(head.values(), default=0.0)
    return {
        run.id: max(0.0, longest - head[run.id] - tail[run.id] + seconds[run.id]) for run in runs
    }


def critical_path(runs: Sequence[StepRun]) -> tuple[str, ...]:
    """Ids of the steps of one longest path by seconds of work, in order."""
    seconds = {run.id: run.work_s for run in runs}
    head, _ = _longest_paths(runs, seconds)
    upstream = {run.id: [name for name in run.upstream if name in seconds] for run in runs}
    path: list[str] = []
    choice = [run.id for run in runs]
    while choice:
        path.append(max(choice, key=lambda name: head[name]))
        choice = upstream[path[-1]]
    return tuple(reversed(path))


def _longest_paths(
    runs: Sequence[StepRun], weight: Mapping[str, float]
) -> tuple[dict[str, float], dict[str, float]]:
    """Return the weight of the longest path that ends with each step, and that starts with it."""
    head: dict[str, float] = {}
    for run in runs:
        before = [head[name] for name in run.upstream if name in head]
        head[run.id] = weight[run.id] + max(before, default=0.0)
    tail = dict.fromkeys(weight, 0.0)
    for run in reversed(runs):
        tail[run.id] += weight[run.id]
        for name in run.upstream:
            if name in tail:
                tail[name] = max(tail[name], tail[run.id])
    return head, tail
