"""A run's timeline: a line a step, and what each of its seconds was. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from ....text import duration, plural
from ..view import RunView
from .labels import fitted, safe, seconds
from .look import Theme
from .spans import Lane, Span, lanes, nice_step
from .templates_of import drawn

__all__ = ["timeline_says", "timeline_svg"]

_NAMES, _ROOM = 216.0, 700.0  # the width of the names, and of the bars
_MOST_TICKS = 8
_MANY = 60


@dataclass(frozen=True, slots=True)
class _Drawn:
    """A span in pixels."""

    kind: str
    x: float
    width: float


@dataclass(frozen=True, slots=True)
class _Scale:
    total_s: float

    def x(self, at_s: float) -> float:
        return _NAMES + (at_s / self.total_s * _ROOM if self.total_s else 0.0)

    def drawn(self, span: Span) -> _Drawn:
        start, end = self.x(span.start_s), self.x(span.end_s)
        return _Drawn(span.kind, start, max(end - start, 1.5))


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
    scale = _Scale(last_s)
    return drawn(
        "timeline.svg.j2",
        theme,
        width=_NAMES + _ROOM + 70,
        height=len(made) * row + 62,
        names=_NAMES,
        row=row,
        says=safe(timeline_says(view), 600),
        ticks=_ticks(scale),
        lanes=[
            {
                "step": lane.step,
                "name": fitted(f"{lane.step.id} {lane.step.result.agent}", 28),
                "end": scale.x(max(span.end_s for turn in lane.turns for span in turn.spans)),
                "took": _took(lane),
                "turns": [(turn, [scale.drawn(s) for s in turn.spans]) for turn in lane.turns],
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
    tries = sum(len(lane.turns) for lane in made)
    longest = max(made, key=lambda lane: lane.turns[-1].end_s)
    waited = sum(attempt.queue_s for lane in made for attempt in lane.step.result.attempts)
    return (
        f"The timeline of {plural(len(made), 'step')} in {plural(tries, 'attempt')} over "
        f"{duration(last_s)}; they waited {duration(waited)} for models. "
        f"{longest.step.id} ended last."
    )


def _took(lane: Lane) -> str:
    if lane.step.status in ("succeeded", "running"):
        return seconds(sum(attempt.duration_s for attempt in lane.step.result.attempts))
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
