"""Drawings of a run's cost by step and model, and of a persona's success over time. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo

from ...store.attempt import Attempt, Usage
from ...text import dollars
from ..members import folded
from ..memory_pages import Period
from ..page import RunView
from .theme import Theme, amount, fitted, render_svg, safe

__all__ = ["Spent", "by_model", "by_step", "costs_says", "costs_svg", "record_says", "record_svg"]


_MOST = 24
_REST = "planning and answer"


@dataclass(frozen=True, slots=True)
class Spent:
    """What a step, a model or something else of a run took."""

    name: str
    usage: Usage


def by_step(view: RunView) -> list[Spent]:
    """Return the cost of each step, most first, and the rest of the run; bounded."""
    steps = [
        Spent(f"{step.id} {step.state.agent}", _of_step(step.state.attempts))
        for step in folded(view.steps)
    ]
    found = sorted(
        (spent for spent in steps if spent.usage.tokens),
        key=lambda spent: spent.usage.tokens,
        reverse=True,
    )
    if len(found) > _MOST:
        rest = found[_MOST:]
        found = [*found[:_MOST], Spent(f"{len(rest)} other steps", _sum(s.usage for s in rest))]
    return _with_rest(found, view)


def by_model(view: RunView) -> list[Spent]:
    """Return what each model took, most first, and what is not known of which it was."""
    models: dict[str, list[Usage]] = {}
    for step in view.steps:
        for attempt in step.state.attempts:
            models.setdefault(attempt.model, []).append(attempt.usage)
    if view.planning and view.planning.model and view.planning.usage.tokens:
        models.setdefault(view.planning.model, []).append(view.planning.usage)
    found = [Spent(model, _sum(usages)) for model, usages in models.items()]
    found.sort(key=lambda spent: spent.usage.tokens, reverse=True)
    return _with_rest([spent for spent in found if spent.usage.tokens], view, "answer and the rest")


def _with_rest(found: list[Spent], view: RunView, name: str = _REST) -> list[Spent]:
    known = _sum(spent.usage for spent in found)
    cost = view.cost
    money = None
    if cost.money_usd is not None and known.cost_usd is not None:
        money = max(0.0, cost.money_usd - known.cost_usd)
    rest = Usage(
        requests=max(0, cost.calls - known.requests),
        input_tokens=max(0, cost.input_tokens - known.input_tokens),
        output_tokens=max(0, cost.output_tokens - known.output_tokens),
        cost_usd=money,
    )
    return [*found, Spent(name, rest)] if rest.tokens else found


def _of_step(attempts: Sequence[Attempt]) -> Usage:
    asked = [attempt.decision.usage for attempt in attempts if attempt.decision]
    return _sum([*(attempt.usage for attempt in attempts), *asked])


def _sum(usages: Iterable[Usage]) -> Usage:
    return sum(usages, Usage())


_NAMES, _ROOM, _ROW, _HEAD = 230.0, 480.0, 22, 34


@dataclass(frozen=True, slots=True)
class _Line:
    """A bar: its widths in pixels, and its figures in words."""

    name: str
    read: float
    written: float
    figures: str
    title: str


@dataclass(frozen=True, slots=True)
class _Part:
    """One of the two lists, and where it begins."""

    title: str
    lines: Sequence[_Line]
    top: float


def costs_svg(view: RunView, theme: Theme = "auto") -> str:
    """Draw tokens and money by step and by model; "" if nothing was asked."""
    steps, models = by_step(view), by_model(view)
    if not steps and not models:
        return ""
    parts: list[_Part] = []
    top = 30.0
    for title, spent in (("By model", models), ("By step", steps)):
        if spent:
            parts.append(_Part(title, _lines(spent), top))
            top += _HEAD + len(spent) * _ROW + 14
    return render_svg(
        "costs.svg.j2",
        theme,
        width=_NAMES + _ROOM + 200,
        height=int(top),
        names=_NAMES,
        row=_ROW,
        head=_HEAD,
        parts=parts,
        says=safe(costs_says(view), 600),
    )


def costs_says(view: RunView) -> str:
    """Say in words what the drawing shows."""
    cost = view.cost
    money = f", {dollars(cost.money_usd)}" if cost.money_usd is not None else ""
    most = ", ".join(f"{s.name} {s.usage.tokens:,}" for s in by_model(view)[:4])
    by = f" By model: {most}." if most else ""
    return f"{cost.tokens:,} tokens in {cost.calls:,} calls{money}.{by}"


def _lines(spent: Sequence[Spent]) -> list[_Line]:
    most = max(each.usage.tokens for each in spent)
    return [
        _Line(
            name=fitted(each.name, 32),
            read=each.usage.input_tokens / most * _ROOM,
            written=each.usage.output_tokens / most * _ROOM,
            figures=_figures(each),
            title=safe(
                f"{each.name}: {each.usage.input_tokens:,} tokens read, "
                f"{each.usage.output_tokens:,} written, {each.usage.requests:,} calls"
                f"{_money(each)}"
            ),
        )
        for each in spent
    ]


def _figures(spent: Spent) -> str:
    return f"{amount(spent.usage.tokens)} tokens{_money(spent)}"


def _money(spent: Spent) -> str:
    usd = spent.usage.cost_usd
    return "" if usd is None else f", {dollars(usd)}"


_RECORD_NAMES, _RECORD_ROOM, _RECORD_ROW, _TOP = 130.0, 480.0, 24, 34


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
    return render_svg(
        "record.svg.j2",
        theme,
        width=_RECORD_NAMES + _RECORD_ROOM + 120,
        height=_TOP + len(found) * _RECORD_ROW + 8,
        left=_RECORD_NAMES,
        room=_RECORD_ROOM,
        row=_RECORD_ROW,
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
        _RECORD_NAMES + low * _RECORD_ROOM,
        _RECORD_NAMES + mean * _RECORD_ROOM,
        _RECORD_NAMES + high * _RECORD_ROOM,
        counts,
        f"{when}: {mean:.0%} expected, surely {low:.0%} to {high:.0%}; {counts} succeeded",
    )
