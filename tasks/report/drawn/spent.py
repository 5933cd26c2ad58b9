"""What steps and models took, so that it adds up to what the run took. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ....result import Attempt, Usage
from ..view import RunView

__all__ = ["Spent", "by_model", "by_step"]

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
