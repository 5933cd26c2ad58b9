"""What a run took, by step and by model: tokens as bars, money beside them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ....result import Attempt, Usage
from ....text import dollars
from ..view import RunView
from .labels import amount, fitted, safe
from .look import Theme
from .templates_of import drawn

__all__ = ["Spent", "by_model", "by_step", "costs_says", "costs_svg"]


_MOST = 24
_REST = "planning and answer"


@dataclass(frozen=True, slots=True)
class Spent:
    """What a step, a model or something else of a run took."""

    name: str
    usage: Usage


def by_step(view: RunView) -> list[Spent]:
    """Return what each step took, most first, and what the run took besides; bounded."""
    steps = [
        Spent(f"{step.id} {step.result.agent}", _of_step(step.result.attempts))
        for step in view.steps
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
        for attempt in step.result.attempts:
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
    return drawn(
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
