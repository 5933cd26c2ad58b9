"""All figures of learning, credit, choice and recall."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

from pydantic import ConfigDict, Field, model_validator

from ...frozen import Frozen
from ...task_ir import TIERS, Tier

__all__ = ["DEFAULTS", "LearningConfig"]


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

    blame: float = Field(
        default=0.6, gt=0, le=1, description="Of the blame, how much reaches one step further up."
    )
    blame_depth: int = Field(default=3, ge=1, description="How many steps up blame goes.")

    initial_q: float = Field(default=0.5, description="Q of what was never tried.")
    alpha: float = Field(default=0.1, gt=0, le=1, description="How fast a persona's Q moves.")
    memory_alpha: float = Field(default=0.3, gt=0, le=1, description="How fast a memory's does.")
    half_life: float = Field(
        default=200.0, gt=0, description="Samples after which an outcome counts half."
    )
    duration_half_life: float = Field(default=20.0, gt=0, description="The same for a duration.")
    open_runs: int = Field(
        default=256, ge=1, description="Runs, latest first, whose rewards blame can still change."
    )

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
