"""How much of the critical path was cut, and what each figure means."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field

from ..frozen import Frozen
from ..untrusted.figures import Finite
from .stretch import TimeKind

__all__ = ["FIGURES", "KIND_WORDS", "TIME_KINDS", "Metrics"]


class Metrics(Frozen):
    """How much of the critical path was cut. Formulas: `parl.metrics`; words: `meanings`."""

    critical_steps: int
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
    "model": "model",
    "provider": "waiting for a provider",
    "slot": "waiting for a slot",
    "delay": "retry delay",
    "gate": "gates",
    "tool": "tools",
    "person": "a person",
    "memory": "memory",
    "answer": "answer",
    "prefect": "Prefect",
    "earlier": "an earlier process",
    "stopped": "not running",
}
"""The kinds of time as people are shown them."""

TIME_KINDS: Mapping[TimeKind, str] = {
    "start": "before the plan is asked for, or gone on with: checks of models, gates and tools",
    "planning": "the orchestrator looks around, writes the plan or a step's replacement; what the "
    "memory knows of the plan's steps",
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
    "prefect": "what is left: task runs begin and end, results are stored, the schedule decides",
    "earlier": "what an earlier process of the run did after the last thing that was kept of it",
    "stopped": "no process worked on the run: it had been left or killed, and was resumed later",
}
"""What each kind of time means."""

FIGURES: Mapping[str, str] = {
    "total": "seconds from the objective to the answer",
    "makespan": "seconds from the first step's start to the last step's end, without those in "
    "which no process worked on the run",
    "before": "seconds of the total before the first step's start",
    "after": "seconds of the total after the last step's end",
    "path": "the steps that the run's end waited for, each for the one before it",
    "critical path": "the most seconds of work along steps that need each other: with any number "
    "of slots the steps take no less",
    "waits": "seconds that the critical path's steps waited for their models",
    "work": "seconds of work of all attempts together, without waits for models",
    "parallelism": "work ÷ critical path: how many times faster any number of slots could be",
    "speedup": "work ÷ makespan: how many times faster it was than one step after another",
    "critical steps": "model calls after one another: the orchestrator's, and the most along steps "
    "that need each other",
    "slack": "seconds that a step could have taken longer without making the run longer",
    "cost": "calls of models and their tokens, planning and the answer included; money where "
    "prices are known",
}
"""What each figure of a run means."""
