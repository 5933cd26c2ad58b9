"""A persona's success over time: what was expected of it, between its bounds. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo

from ..remembered.record import Period
from .look import Theme
from .templates_of import drawn

__all__ = ["record_says", "record_svg"]

_NAMES, _ROOM, _ROW, _TOP = 130.0, 480.0, 24, 34


@dataclass(frozen=True, slots=True)
class _Mark:
    """A line: where its bounds and its mark stand, in pixels, and its words."""

    name: str
    low: float
    mean: float
    high: float
    counts: str
    title: str


def record_svg(found: Sequence[Period], theme: Theme = "auto", zone: tzinfo | None = None) -> str:
    """Draw periods, a line each, on an axis from 0 to 100 %; "" if there is none."""
    if not found:
        return ""
    return drawn(
        "record.svg.j2",
        theme,
        width=_NAMES + _ROOM + 120,
        height=_TOP + len(found) * _ROW + 8,
        left=_NAMES,
        room=_ROOM,
        row=_ROW,
        top=_TOP,
        marks=[_mark(period, zone) for period in found],
        says=record_says(found),
    )


def record_says(found: Sequence[Period]) -> str:
    """Say in words what the drawing shows."""
    first, last = found[0].expected, found[-1].expected
    return (
        f"The success that was expected of it went from {first.mean:.0%} to {last.mean:.0%}; the "
        f"line is where the true rate surely lies, {last.low:.0%} to {last.high:.0%} in the end."
    )


def _mark(period: Period, zone: tzinfo | None) -> _Mark:
    when = f"{datetime.fromtimestamp(period.until, zone):%Y-%m-%d %H:%M}"
    counts = f"{period.succeeded:,} of {period.attempts:,}"
    low, mean, high = period.expected.low, period.expected.mean, period.expected.high
    return _Mark(
        when,
        _NAMES + low * _ROOM,
        _NAMES + mean * _ROOM,
        _NAMES + high * _ROOM,
        counts,
        f"{when}: {mean:.0%} expected, surely {low:.0%} to {high:.0%}; {counts} succeeded",
    )
