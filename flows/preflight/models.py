"""Finding out about a run's models before anything starts."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from ...blocks.limiter.model import open_limiters
from ...blocks.models import resolve_model
from ...blocks.preflight import check_served
from ...blocks.prices import price_of
from ...blocks.profiles import profile_of
from ...errors import InputError
from ...model_names import model_names, refuse_secrets
from ...task_ir import TaskIR, TierName, is_orchestrated
from ..bounds.limits import Models
from ..options import SwarmOptions

__all__ = ["check_models"]


async def check_models(options: SwarmOptions, plan: TaskIR | None) -> Models:
    """Find out whether each tier's model can be had and is served, and what is known of it.

    Args:
        options: Which models the tiers have.
        plan: The user's plan; None where the orchestrator writes one.

    Raises:
        InputError: A name is wrong, or a bound on money can't be held.
        ModelError: A model can't be had, or its provider refuses.
    """
    tiers: list[TierName] = ["worker", "coder", "architect"]
    if is_orchestrated(plan):
        tiers.append("orchestrator")
    named = {options.model_of(tier): tier for tier in reversed(tiers)}
    for name in _of_steps(options, plan):
        named.setdefault(name, "worker")
    models = {name: await resolve_model(name, tier) for name, tier in named.items()}
    prices = {name: price for name, model in models.items() if (price := price_of(model))}
    if options.max_usd is not None:
        _require_prices([name for name in models if name not in prices])
    # A request for a plan finds out as well, and costs nothing more.
    plans = options.model_of("orchestrator") if plan is None else None
    await asyncio.gather(
        *(check_served(model, probe=name != plans) for name, model in models.items())
    )
    for model in models.values():
        open_limiters(model, _most_at_once(options))
    profiles = {name: profile_of(model) for name, model in models.items()}
    return Models(profiles, prices)


def _most_at_once(options: SwarmOptions) -> int:
    """The most attempts at once that the user asks for; 1 where nobody does."""
    asked = [options.max_concurrency, *(tier.concurrency for tier in options.tiers.values())]
    return max(filter(None, asked), default=1)


def _of_steps(options: SwarmOptions, plan: TaskIR | None) -> Sequence[str]:
    """Return the models that a plan's steps name.

    Raises:
        InputError: One takes a key from an environment variable: which keys leave the machine is
            the user's to say, not a plan's.
    """
    named = [(step.id, step.model) for step in (plan.steps if plan else ()) if step.model]
    for step, model in named:
        try:
            refuse_secrets(model)
        except InputError as error:
            raise InputError(f"Step {step}: {error.problem}", error.fix) from None
        if any("@" in name and "#" in name for name in model_names(model)):
            raise InputError(
                f"The model {model!r} of step {step} names an environment variable with a key.",
                "Leave # and the name out: --key-env goes to the servers that the options name. "
                "Or name a block.",
            )
    return [options.named(model) for _, model in named]


def _require_prices(unknown: Sequence[str]) -> None:
    if unknown:
        raise InputError(
            f"max_usd can't be held: no price is known for {', '.join(map(repr, unknown))}.",
            "Bound the run with max_tokens instead, or name a model with a known price.",
        )
