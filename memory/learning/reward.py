"""The reward of an attempt and its staged shaping, and the figures of all learning. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, Self

from pydantic import ConfigDict, Field, model_validator

from ...data_types import Frozen
from ...errors import Category
from ...plan.task_ir import TIERS, Tier
from ..episode import GateOutcome

__all__ = [
    "DEFAULTS",
    "SILENT",
    "LearningConfig",
    "Outcome",
    "Reward",
    "outcome_of",
    "reward_of",
    "shape_reward",
]


def _prices() -> dict[Tier, float]:
    return {"worker": 1.0, "coder": 3.0, "architect": 9.0}


class LearningConfig(Frozen):
    """The terms of a reward, how fast beliefs move, and when they are trusted.

    Rewards are those of one attempt; rates are shares of attempts that succeeded, 0 to 1.
    """

    model_config = ConfigDict(allow_inf_nan=False)

    success: float = Field(default=1.0, description="Reward of an attempt that succeeded.")
    partial: float = Field(default=0.3, description="Of one most of whose gates passed.")
    failure: float = Field(default=-0.5, description="Of any other.")
    failed_gate: float = Field(default=-0.1, description="Added for each gate that failed.")
    escalation: float = Field(default=-0.15, description="Added for each tier it had climbed.")

    shaping: float = Field(
        default=0.3, ge=0, le=1, description="λ of the bonus for what was seldom tried, at first."
    )
    shaping_steps: int = Field(default=50, ge=1, description="Attempts after which λ is 0.")

    initial_q: float = Field(default=0.5, description="Q of what was never tried.")
    alpha: float = Field(default=0.1, gt=0, le=1, description="How fast a persona's Q moves.")
    memory_alpha: float = Field(default=0.3, gt=0, le=1, description="How fast a memory's does.")
    half_life: float = Field(
        default=200.0, gt=0, description="Samples after which an outcome counts half."
    )
    duration_half_life: float = Field(default=20.0, gt=0, description="The same for a duration.")

    gate: float = Field(default=0.3, ge=-1, le=1, description="Similarity below which is nothing.")
    candidates: int = Field(default=5, ge=1, description="Memories that are recalled, at most.")
    duplicate: float = Field(
        default=0.95, gt=0, le=1, description="Similarity above which two memories are the same."
    )
    q_weight: float = Field(
        default=0.5, ge=0, le=1, description="λ of the ranking: weight of Q against similarity."
    )

    min_samples: float = Field(
        default=3.0, ge=0, description="Samples, by their weight, below which the rules decide."
    )
    min_confidence: float = Field(
        default=0.6, ge=0.5, le=1, description="Probability of being better that is trusted."
    )
    related: float = Field(
        default=0.25, ge=-1, le=1, description="Similarity from which a step says something."
    )
    near: float = Field(
        default=0.6, ge=-1, le=1, description="Similarity from which it is of the same kind."
    )
    ramp: float = Field(
        default=0.3, gt=0, description="Width, around both, over which weights rise from 0 to 1."
    )
    base_strength: float = Field(
        default=2.0, gt=0, description="Samples that the rate of all steps is worth."
    )
    related_strength: float = Field(
        default=4.0, gt=0, description="Samples that related steps are worth, at most."
    )
    optimism: float = Field(
        default=0.2, ge=0, description="Of a rate's standard deviation, what draws of it have."
    )
    change: float = Field(
        default=10.0, gt=0, description="Twice the log-likelihood ratio that shows a change."
    )
    outdated: float = Field(
        default=0.1, ge=0, le=1, description="What an outcome from before a change still counts."
    )
    elsewhere: float = Field(
        default=0.5, ge=0, le=1, description="The same, for others than what changed."
    )
    neighbours: int = Field(default=200, ge=1, description="Similar attempts that are looked at.")
    prices: Mapping[Tier, float] = Field(
        default_factory=_prices, description="What an attempt costs on each tier."
    )
    failure_price: float = Field(
        default=20.0, ge=0, description="What it costs if the highest tier fails, too."
    )
    tries: float = Field(
        default=2.0, ge=1, description="Attempts that a tier is given before the next one."
    )

    @model_validator(mode="after")
    def _check_figures(self) -> Self:
        if set(self.prices) != set(TIERS) or min(self.prices.values()) <= 0:
            raise ValueError(f"prices has a positive price for each of {', '.join(TIERS)}")
        if not self.failure <= self.partial <= self.success:
            raise ValueError("failure, partial and success are worth more in this order")
        return self


DEFAULTS = LearningConfig()


Outcome = Literal["success", "partial", "failure", "nothing"]

SILENT = frozenset(
    {Category.UNAVAILABLE, Category.INFRASTRUCTURE, Category.BUDGET, Category.UPSTREAM}
)
"""Failures that say nothing about who failed: a machine, a budget or another step was at fault."""


class Reward(NamedTuple):
    """A reward, and the terms whose sum it is, by name."""

    value: float
    terms: Mapping[str, float]


def outcome_of(
    succeeded: bool, category: Category | None, gates: Sequence[GateOutcome] = ()
) -> Outcome:
    """Classify how an attempt ended.

    It is `partial` if it failed, but more of its gates passed than failed, and `nothing` if its
    failure is one of `SILENT`.
    """
    if succeeded:
        return "success"
    if category in SILENT:
        return "nothing"
    passed = sum(gate.status == "passed" for gate in gates)
    failed = sum(gate.status == "failed" for gate in gates)
    return "partial" if passed > failed else "failure"


def reward_of(
    succeeded: bool,
    category: Category | None,
    gates: Sequence[GateOutcome] = (),
    *,
    escalations: int = 0,
    config: LearningConfig = DEFAULTS,
) -> Reward:
    """Compute an attempt's reward; the outcome `nothing` gives 0 and no terms.

    Args:
        escalations: How often its step had been given to a higher tier before.
    """
    outcome = outcome_of(succeeded, category, gates)
    if outcome == "nothing":
        return Reward(0.0, {})
    base = {"success": config.success, "partial": config.partial, "failure": config.failure}
    failed = sum(gate.status == "failed" for gate in gates)
    terms = {outcome: base[outcome]}
    if failed:
        terms["failed gates"] = config.failed_gate * failed
    if escalations:
        terms["escalations"] = config.escalation * escalations
    return Reward(math.fsum(terms.values()), terms)


def shape_reward(
    reward: float, tried: float, step: int, config: LearningConfig = DEFAULTS
) -> float:
    """Mix in a bonus for what was seldom tried: λ/√(N + 1) + (1 − λ)·r, with λ annealed to 0.

    Args:
        tried: N, how often it had been tried before.
        step: Attempts that were learned from before, of anything.
    """
    weight = config.shaping * max(0.0, 1 - step / config.shaping_steps)
    return weight / math.sqrt(tried + 1) + (1 - weight) * reward
