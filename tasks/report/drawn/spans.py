"""Which parts of an attempt are drawn as bars: waiting, work, gates, and what followed. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ....result import Attempt, StepResult
from ....text import one_line
from ..view import RunView, StepView
from .labels import safe, seconds

__all__ = ["Lane", "Span", "lanes", "nice_step"]

SpanKind = Literal["wait", "work", "fail", "gates", "delay"]
MEANINGS: dict[SpanKind, str] = {
    "wait": "waited for the model",
    "work": "worked",
    "fail": "worked, and failed",
    "gates": "gates",
    "delay": "waited for the next attempt",
}


@dataclass(frozen=True, slots=True)
class Span:
    """A part of an attempt; times are seconds since the run's first second."""

    kind: SpanKind
    start_s: float
    end_s: float


@dataclass(frozen=True, slots=True)
class Turn:
    """An attempt as it is drawn, and what it led to.

    Attributes:
        title: It in words.
        decision: What its failure led to; "" if nothing.
    """

    spans: tuple[Span, ...]
    title: str
    decision: str
    end_s: float


@dataclass(frozen=True, slots=True)
class Lane:
    """A step's line of the timeline."""

    step: StepView
    turns: tuple[Turn, ...]


def lanes(view: RunView) -> tuple[list[Lane], float]:
    """Return a lane for each step that ran, and the seconds that all of them take."""
    ran = [step for step in view.steps if step.result.attempts]
    origin = min((step.result.attempts[0].started_at for step in ran), default=0.0)
    made = [Lane(step, _turns(step.result, origin)) for step in ran]
    last = max((span.end_s for lane in made for t in lane.turns for span in t.spans), default=0.0)
    return made, last


def nice_step(total_s: float, most: int) -> float:
    """Return the seconds between two ticks: 1, 2 or 5 times a power of ten, or whole minutes."""
    steps = [b * 10.0**p for p in range(-2, 2) for b in (1, 2, 5)][:-2]
    steps += [15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1800.0, 3600.0]
    for step in sorted(steps):
        if total_s / step <= most:
            return step
    hours = 1
    while total_s / (3600.0 * hours) > most:
        hours *= 2
    return 3600.0 * hours


def _turns(step: StepResult, origin: float) -> tuple[Turn, ...]:
    following = [*(attempt.started_at for attempt in step.attempts[1:]), None]
    return tuple(
        _turn(attempt, step, origin, then)
        for attempt, then in zip(step.attempts, following, strict=True)
    )


def _turn(attempt: Attempt, step: StepResult, origin: float, then: float | None) -> Turn:
    start, end = attempt.started_at - origin, attempt.ended_at - origin
    begun = min(start + attempt.queue_s, end)
    # Light gates run side by side, so their seconds may add up to more than there were.
    checked = end + sum(0.0 if gate.cached else gate.duration_s for gate in attempt.gates)
    limit = None if then is None else then - origin
    checked = checked if limit is None else max(end, min(checked, limit))
    spans = [
        Span("wait", start, begun),
        Span("work" if attempt.category is None else "fail", begun, end),
        Span("gates", end, checked),
    ]
    if limit is not None and limit > checked:
        spans.append(Span("delay", checked, limit))
    kept = tuple(span for span in spans if span.end_s > span.start_s)
    decision = attempt.decision.action if attempt.decision else ""
    return Turn(kept or (Span("work", start, end),), _title(attempt, step, kept), decision, end)


def _title(attempt: Attempt, step: StepResult, spans: Sequence[Span]) -> str:
    parts = ", ".join(f"{MEANINGS[s.kind]} {seconds(s.end_s - s.start_s)}" for s in spans)
    ended = f"; failed by {attempt.category}" if attempt.category else ""
    then = f", so {attempt.decision.action}" if attempt.decision else ""
    wrong = f": {one_line(attempt.error or '', 120)}" if attempt.category else ""
    number = f", attempt {attempt.number}" if attempt.number > 1 or attempt.category else ""
    name = f"{step.id} · {attempt.agent or step.agent}{number}"
    return safe(f"{name}: {parts}{ended}{wrong}{then}. {attempt.model}")
