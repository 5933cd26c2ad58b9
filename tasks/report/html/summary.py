"""The head of a document: how a run ended and its main figures; and a step in a line. Pure."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from ....text import dollars, duration, plural
from ..drawn.labels import amount
from ..view import RunView, StepView

__all__ = ["Fact", "facts_of", "sign_of", "step_line"]

_SIGNS = {"completed": "succeeded", "partial": "ready", "passed": "succeeded", "error": "failed"}


@dataclass(frozen=True, slots=True)
class Fact:
    """A figure of the head; `small` stands below it."""

    name: str
    value: str
    small: str = ""


def facts_of(view: RunView) -> list[Fact]:
    """Return the figures that a reader wants first."""
    counts = Counter(step.status for step in view.steps)
    shown = ", ".join(f"{count:,} {status}" for status, count in counts.items())
    facts = [Fact("Steps", f"{len(view.steps):,}", shown)]
    if view.metrics is not None:
        path = f"critical path {duration(view.metrics.critical_path_s)}"
        facts.append(Fact("Time", duration(view.metrics.makespan_s), path))
        wide = f"parallelism {view.metrics.parallelism:.2f}"
        facts.append(Fact("Speedup", f"{view.metrics.speedup:.2f}×", wide))
    cost = view.cost
    facts.append(Fact("Tokens", amount(cost.tokens), plural(cost.calls, "call")))
    if cost.money_usd is not None:
        facts.append(Fact("Cost", dollars(cost.money_usd)))
    return facts


def sign_of(status: str) -> str:
    """Return the status of a step whose sign a run's status or a gate's verdict has."""
    return _SIGNS.get(status, status)


def step_line(step: StepView) -> str:
    """Say in a few words what a step took."""
    tries = step.result.attempts
    if not tries:
        return step.status
    worked = duration(sum(attempt.duration_s for attempt in tries))
    again = f", {len(tries)} attempts" if len(tries) > 1 else ""
    critical = ", critical path" if step.result.critical else ""
    return f"{step.status} in {worked}{again}{critical}"
