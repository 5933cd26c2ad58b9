"""Metrics of a run: critical steps, critical path, slack, parallelism and speedup. Pure.

Critical steps are here the orchestrator's model calls and the longest path through the executed
DAG, each step weighing its calls: a run has no stages to wait for. `parl.py` counts them as they
are published, stage by stage; with one stage of independent steps the two are the same number.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pydantic import Field

from ..data_types import Finite, Frozen
from ..store.step import StepState
from .clock import TimeKind

__all__ = [
    "FIGURES",
    "KIND_WORDS",
    "TIME_KINDS",
    "Metrics",
    "critical_path",
    "measure",
    "seconds_of",
    "slacks",
    "span_of",
]


class Metrics(Frozen):
    """How much of the critical path was cut. Formulas: `measure`; words: `FIGURES`."""

    critical_steps: int = Field(
        description="Along the longest path; `ParlFigures` has those as published."
    )
    makespan_s: Finite
    critical_path_s: Finite
    work_s: Finite
    parallelism: Finite
    speedup: Finite
    wait_s: Finite = Field(default=0.0, description="Seconds that attempts waited for models.")
    critical_wait_s: Finite = Field(
        default=0.0, description="Those of them that the critical path's steps waited."
    )
    total_s: Finite = Field(
        default=0.0, description="Seconds from the objective to the answer; 0 if not measured."
    )


KIND_WORDS: Mapping[TimeKind, str] = {
    "start": "start",
    "planning": "planning",
    "orchestrator": "orchestrator",
    "model": "model",
    "provider": "waiting for a provider",
    "slot": "waiting for a slot",
    "delay": "retry delay",
    "gate": "gates",
    "tool": "tools",
    "person": "a person",
    "memory": "memory",
    "answer": "answer",
    "server": "waiting for the Prefect server",
    "prefect": "Prefect",
    "earlier": "an earlier process",
    "stopped": "not running",
}
"""The kinds of time as people are shown them."""

TIME_KINDS: Mapping[TimeKind, str] = {
    "start": "before planning, or before a resume: checks of models, gates and tools",
    "planning": "the orchestrator looks around, writes the plan or a step's replacement; what the "
    "memory knows of the plan's steps",
    "orchestrator": "nothing could start before the orchestrator had decided",
    "model": "a model reads and writes for a step",
    "provider": "a request waits until its provider takes it: it is busy, or others come first",
    "slot": "a step that could start waits for others: all slots of the run or its tier are taken, "
    "or the local model is being loaded or computes other requests",
    "delay": "the pause that the failure policy asks for before a step is tried again",
    "gate": "gates look at what a step made",
    "tool": "a step's agent waits for a tool that it called",
    "person": "a question waits for a person's answer",
    "memory": "an attempt is remembered, or the memory learns from the run",
    "answer": "the answer is taken or written from what the steps made",
    "server": "Prefect's client waits before it asks the server again, which was busy, had its "
    "database locked or gave no answer",
    "prefect": "what is left: task runs begin and end, results are stored, the schedule decides",
    "earlier": "what an earlier process of the run did after the last thing that was kept of it",
    "stopped": "no process worked on the run: it had been left or killed, and was resumed later",
}
"""What each kind of time means."""

FIGURES: Mapping[str, str] = {
    "total": "seconds from the objective to the answer",
    "in Prefect's queue": "seconds before the total, from when Prefect was to start the run until "
    "it began: for a worker, a place in its pool or queue, or the server",
    "makespan": "seconds from the first step's start to the end of the last step and its gates, "
    "without those in which no process worked on the run",
    "before": "seconds of the total before the first step's start",
    "after": "seconds of the total after the makespan",
    "path": "the steps that the run's end waited for, each for the one before it",
    "critical path": "the most seconds of work along steps that need each other: with any number "
    "of slots the steps take no less",
    "waits": "seconds that the critical path's steps waited for their models",
    "work": "seconds of work of all attempts and their gates together, without waits for models",
    "parallelism": "work ÷ critical path: how many times faster any number of slots could be",
    "speedup": "work ÷ makespan: how many times faster it was than one step after another",
    "critical steps": "model calls after one another: the orchestrator's, and the most along steps "
    "that need each other",
    "critical steps by turn": "critical steps as published: in each turn the orchestrator's calls, "
    "and the most of any one step of each group that can run side by side",
    "r_parallel": "share of the steps' calls that the slowest of each group didn't make",
    "r_finish": "share of the assigned steps that succeeded",
    "r_perf": "1 for a completed run, 0.3 for a partial one, 0 for a failed one",
    "reward, summed": "0.1 · r_parallel + 0.1 · r_finish + r_perf",
    "reward, mixed": "0.1 · r_parallel + 0.9 · r_perf, the latter for a completed run alone",
    "slack": "seconds that a step could have taken longer without making the run longer",
    "cost": "calls of models and their tokens, planning and the answer included; money where "
    "prices are known",
}
"""What each figure of a run means."""


def measure(
    steps: Sequence[StepState],
    upstream: Mapping[str, Sequence[str]],
    orchestrator_calls: int,
    total_s: float = 0.0,
    stopped_s: float = 0.0,
) -> Metrics:
    """Measure a run.

    Args:
        steps: Its steps, each after those it depends on; those that never ran count for nothing.
        upstream: Ids of the steps that each step waited for.
        orchestrator_calls: Model calls for planning and synthesis.
        total_s: Seconds from the objective to the answer.
        stopped_s: Seconds of the makespan in which no process worked on the run.
    """
    ran = [step for step in steps if step.attempts]
    seconds = seconds_of(ran)
    calls = {step.id: float(step.calls) for step in ran}
    work_s = sum(seconds.values())
    path_s = max(_longest_paths(seconds, upstream)[0].values(), default=0.0)
    path = critical_path(seconds, upstream)
    longest_calls = max(_longest_paths(calls, upstream)[0].values(), default=0.0)
    since, until = span_of(ran)
    makespan_s = max(0.0, until - since - stopped_s)
    return Metrics(
        critical_steps=orchestrator_calls + int(longest_calls),
        makespan_s=makespan_s,
        critical_path_s=path_s,
        work_s=work_s,
        parallelism=work_s / path_s if path_s else 0.0,
        speedup=work_s / makespan_s if makespan_s else 0.0,
        wait_s=sum(step.wait_s for step in ran),
        critical_wait_s=sum(step.wait_s for step in ran if step.id in path),
        total_s=total_s,
    )


def span_of(steps: Iterable[StepState]) -> tuple[float, float]:
    """Return when the first step started, and when the last one and its gates ended; else zeros."""
    tries = [attempt for step in steps for attempt in step.attempts]
    since = min((attempt.started_at for attempt in tries), default=0.0)
    return since, max((attempt.checked_at for attempt in tries), default=0.0)


def seconds_of(steps: Iterable[StepState]) -> dict[str, float]:
    """Return the seconds of work of the steps that ran, by their ids."""
    return {step.id: step.work_s for step in steps if step.attempts}


def slacks(seconds: Mapping[str, float], upstream: Mapping[str, Sequence[str]]) -> dict[str, float]:
    """Return the seconds each step could have taken longer without a longer critical path.

    Args:
        seconds: What each step took, each after those it depends on.
        upstream: Ids of the steps that each step waited for; those without seconds are ignored.
    """
    head, tail = _longest_paths(seconds, upstream)
    longest = max(head.values(), default=0.0)
    return {
        name: max(0.0, longest - head[name] - tail[name] + took) for name, took in seconds.items()
    }


def critical_path(
    seconds: Mapping[str, float], upstream: Mapping[str, Sequence[str]]
) -> tuple[str, ...]:
    """Return the ids of the steps of one longest path by seconds, in order; see `slacks`."""
    head, _ = _longest_paths(seconds, upstream)
    path: list[str] = []
    choice = [*seconds]
    while choice:
        path.append(max(choice, key=lambda name: head[name]))
        choice = [name for name in upstream.get(path[-1], ()) if name in seconds]
    return tuple(reversed(path))


def _longest_paths(
    weights: Mapping[str, float], upstream: Mapping[str, Sequence[str]]
) -> tuple[dict[str, float], dict[str, float]]:
    """Return the weight of the longest path that ends with each step, and that starts with it."""
    head: dict[str, float] = {}
    for name, weight in weights.items():
        before = [head[needed] for needed in upstream.get(name, ()) if needed in head]
        head[name] = weight + max(before, default=0.0)
    tail = dict.fromkeys(weights, 0.0)
    for name in reversed([*weights]):
        tail[name] += weights[name]
        for needed in upstream.get(name, ()):
            if needed in tail:
                tail[needed] = max(tail[needed], tail[name])
    return head, tail
