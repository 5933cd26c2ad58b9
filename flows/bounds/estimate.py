"""What a plan is likely to cost, before anything runs. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ...pricing import Price
from ...tasks.subagent.request import tokens_of
from ..compile import CompiledPlan
from ..options import SwarmOptions, TierOptions

__all__ = ["TYPICAL_ANSWER", "Estimate", "estimate"]

TYPICAL_ANSWER = 700
"""Tokens of an answer where nobody bounds it: about 500 words."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Tokens of a run in which every step succeeds at once, and their price; None if unknown."""

    input_tokens: int
    output_tokens: int
    usd: float | None

    @property
    def tokens(self) -> int:
        """Tokens read and written."""
        return self.input_tokens + self.output_tokens


def estimate(
    plan: CompiledPlan, options: SwarmOptions, price_of: Callable[[str], Price | None]
) -> Estimate:
    """Estimate a plan: its prompts and what they read, and an answer of typical length each.

    Args:
        plan: What would run.
        options: Which models the tiers have, and what bounds them.
        price_of: The price of a model by its name.
    """
    read = written = 0
    usd: float | None = 0.0
    answers: dict[str, int] = {}
    for step in plan.steps:
        own = options.tiers.get(step.tier, TierOptions())
        most = step.settings.max_output_tokens or own.max_output_tokens or options.max_output_tokens
        answers[step.id] = min(most or TYPICAL_ANSWER, TYPICAL_ANSWER)
        upstream = sum(answers[name] for name in step.upstream)
        upstream += sum(tokens_of(text) for _, text in plan.inputs_of(step))
        room = own.max_input_tokens or options.max_input_tokens
        upstream = min(upstream, room) if room else upstream
        reads = tokens_of(step.instructions) + tokens_of(step.prompt) + upstream
        price = price_of(step.model or options.model_of(step.tier))
        usd = None if usd is None or price is None else usd + price.of(reads, answers[step.id])
        read, written = read + reads, written + answers[step.id]
    needed = {name for step in plan.steps for name in step.upstream}
    ends = [tokens for name, tokens in answers.items() if name not in needed]
    if plan.final_step is None and len(ends) > 1:
        price = price_of(options.model_of("orchestrator"))
        usd = None if usd is None or price is None else usd + price.of(sum(ends), TYPICAL_ANSWER)
        read, written = read + sum(ends), written + TYPICAL_ANSWER
    return Estimate(read, written, usd)
