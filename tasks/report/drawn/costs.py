"""What a run took, by step and by model: tokens as bars, money beside them. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ....text import dollars
from ..view import RunView
from .labels import amount, fitted, safe
from .look import Theme
from .spent import Spent, by_model, by_step
from .templates_of import drawn

__all__ = ["costs_says", "costs_svg"]

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
