"""A run's timeline: a line a step, and what each of its seconds was. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ...metrics.clock import TimeKind
from ...metrics.critical_path import KIND_WORDS
from ...store.attempt import Attempt, most_under_way
from ...store.step import StepState
from ...text import duration, one_line, plural
from ..members import lane_states
from ..page import RunView, StepView
from .theme import Theme, fitted, render_svg, safe, seconds

__all__ = ["Lane", "Span", "lanes", "nice_step", "timeline_says", "timeline_svg"]


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
class TimelineBar:
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
    """A step's line of the timeline.

    Attributes:
        members: How many members share it; 0 for a step's own.
    """

    step: StepView
    turns: tuple[TimelineBar, ...]
    members: int = 0


def lanes(view: RunView) -> tuple[list[Lane], float]:
    """Return a lane for each step that ran, and the seconds that all of them take.

    Many members of a step share one lane.
    """
    views = {step.id: step for step in view.steps}
    ran = [
        (replace(views[state.id], state=state), members)
        for state, members in lane_states([step.state for step in view.steps])
        if state.attempts
    ]
    origin = view.origin
    made = [
        Lane(step, (_shared(step, members, origin),), members)
        if members
        else Lane(step, _turns(step.state, origin))
        for step, members in ran
    ]
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


def _turns(step: StepState, origin: float) -> tuple[TimelineBar, ...]:
    following = [*(attempt.started_at for attempt in step.attempts[1:]), None]
    return tuple(
        _turn(attempt, step, origin, then)
        for attempt, then in zip(step.attempts, following, strict=True)
    )


def _shared(step: StepView, members: int, origin: float) -> TimelineBar:
    """Return the bar of many members: when any of them worked, and when some failed."""
    tries = step.state.attempts
    worked = _merged(
        (each.started_at + each.queue_s - origin, each.ended_at - origin) for each in tries
    )
    lost = _merged(
        (each.started_at + each.queue_s - origin, each.ended_at - origin)
        for each in tries
        if each.category is not None
    )
    spans = (*(Span("work", *each) for each in worked), *(Span("fail", *each) for each in lost))
    failed = sum(each.category is not None for each in tries)
    title = (
        f"{step.id} · {step.state.agent}: {members:,} members in {plural(len(tries), 'attempt')}, "
        f"worked {seconds(step.state.work_s)}, at most {most_under_way(tries)} at once"
    )
    end_s = max(each.ended_at for each in tries) - origin
    return TimelineBar(
        spans, safe(f"{title}; {failed} failed." if failed else f"{title}."), "", end_s
    )


def _merged(spans: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """Join spans that overlap."""
    found: list[tuple[float, float]] = []
    for start, end in sorted(spans):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, max(start, end)))
    return found


def _turn(attempt: Attempt, step: StepState, origin: float, then: float | None) -> TimelineBar:
    start, end = attempt.started_at - origin, attempt.ended_at - origin
    work_at = min(start + attempt.queue_s, end)
    checked = attempt.checked_at - origin
    limit = None if then is None else then - origin
    checked = checked if limit is None else max(end, min(checked, limit))
    spans = [
        Span("wait", start, work_at),
        Span("work" if attempt.category is None else "fail", work_at, end),
        Span("gates", end, checked),
    ]
    if limit is not None and limit > checked:
        spans.append(Span("delay", checked, limit))
    visible = tuple(span for span in spans if span.end_s > span.start_s)
    decision = attempt.decision.action if attempt.decision else ""
    return TimelineBar(
        visible or (Span("work", start, end),), _title(attempt, step, visible), decision, end
    )


def _title(attempt: Attempt, step: StepState, spans: Sequence[Span]) -> str:
    parts = ", ".join(f"{MEANINGS[s.kind]} {seconds(s.end_s - s.start_s)}" for s in spans)
    ended = f"; failed by {attempt.category}" if attempt.category else ""
    then = f", so {attempt.decision.action}" if attempt.decision else ""
    wrong = f": {one_line(attempt.error or '', 120)}" if attempt.category else ""
    number = f", attempt {attempt.number}" if attempt.number > 1 or attempt.category else ""
    name = f"{step.id} · {attempt.agent or step.agent}{number}"
    return safe(f"{name}: {parts}{ended}{wrong}{then}. {attempt.model}")


_NAMES, _ROOM = 216.0, 700.0  # the width of the names, and of the bars
_MOST_TICKS = 8
_MANY = 60
_KINDS: Mapping[TimeKind, str] = {
    "model": "work",
    "planning": "mark",
    "orchestrator": "mark",
    "answer": "mark",
    "gate": "gates",
    "provider": "wait",
    "slot": "wait",
}
"""How the kinds of time are coloured; the others are grey."""


@dataclass(frozen=True, slots=True)
class _Bars:
    """A span in pixels."""

    kind: str
    x: float
    width: float


@dataclass(frozen=True, slots=True)
class _Scale:
    total_s: float

    def x(self, at_s: float) -> float:
        return _NAMES + (at_s / self.total_s * _ROOM if self.total_s else 0.0)

    def bar(self, span: Span) -> _Bars:
        start, end = self.x(span.start_s), self.x(span.end_s)
        return _Bars(span.kind, start, max(end - start, 1.5))


@dataclass(frozen=True, slots=True)
class _Stretch:
    """Some time of the whole run in pixels, and what it went to."""

    kind: str
    x: float
    width: float
    title: str


def timeline_svg(view: RunView, theme: Theme = "auto", *, anchor: str = "") -> str:
    """Draw what each attempt did when; "" if no step ran.

    Args:
        view: The run.
        theme: Whose colours it has.
        anchor: What a step's id follows in the place that it leads to; "" for no links.
    """
    made, last_s = lanes(view)
    if not made:
        return ""
    row = 22 if len(made) <= _MANY else 16
    time = view.time
    scale = _Scale(max(last_s, time.began_at + time.total_s - view.origin) if time else last_s)
    whole = _whole(view, scale)
    return render_svg(
        "timeline.svg.j2",
        theme,
        width=_NAMES + _ROOM + 70,
        height=len(made) * row + 62 + (34 if whole else 0),
        bottom=len(made) * row + 54,
        whole=whole,
        total=duration(time.total_s) if time else "",
        names=_NAMES,
        row=row,
        says=safe(timeline_says(view), 600),
        ticks=_ticks(scale),
        lanes=[
            {
                "step": lane.step,
                "name": fitted(_name(lane), 28),
                "end": scale.x(max(span.end_s for turn in lane.turns for span in turn.spans)),
                "took": _took(lane),
                "shared": lane.members > 0,
                "turns": [(turn, [scale.bar(s) for s in turn.spans]) for turn in lane.turns],
            }
            for lane in made
        ],
        at=scale.x,
        anchor=anchor,
    )


def timeline_says(view: RunView) -> str:
    """Say in words what the timeline shows."""
    made, last_s = lanes(view)
    if not made:
        return "No step ran yet."
    tries = sum(len(lane.step.state.attempts) for lane in made)
    longest = max(made, key=lambda lane: lane.turns[-1].end_s)
    steps = sum(lane.members or 1 for lane in made)
    waited = sum(attempt.queue_s for lane in made for attempt in lane.step.state.attempts)
    return (
        f"The timeline of {plural(steps, 'step')} in {plural(tries, 'attempt')} over "
        f"{duration(last_s)}; they waited {duration(waited)} for models. "
        f"{longest.step.id} ended last."
    )


def _whole(view: RunView, scale: _Scale) -> list[_Stretch]:
    """Return what the time from the objective to the answer went to; [] if that isn't known."""
    time = view.time
    if time is None or time.total_s <= 0:
        return []
    return [
        _Stretch(
            _KINDS.get(each.kind, "delay-of"),
            scale.x(each.started_at - view.origin),
            scale.x(each.ended_at - view.origin) - scale.x(each.started_at - view.origin),
            safe(f"{each.step} {KIND_WORDS[each.kind]}: {seconds(each.seconds)}".strip()),
        )
        for each in time.stretches
    ]


def _name(lane: Lane) -> str:
    many = f" ×{lane.members:,}" if lane.members else ""
    return f"{lane.step.id}{many} {lane.step.state.agent}"


def _took(lane: Lane) -> str:
    if lane.step.status in ("succeeded", "running"):
        return seconds(lane.step.state.work_s)
    return lane.step.status


def _ticks(scale: _Scale) -> list[tuple[float, str]]:
    step = nice_step(scale.total_s, _MOST_TICKS)
    count = int(scale.total_s / step) + 1
    return [(scale.x(step * number), _tick(step * number, step)) for number in range(count)]


def _tick(at_s: float, step: float) -> str:
    if at_s >= 60 or step >= 60:
        minutes, rest = divmod(round(at_s), 60)
        hours, minutes = divmod(minutes, 60)
        return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
    return f"{at_s:g} s"
