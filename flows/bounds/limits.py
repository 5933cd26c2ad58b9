"""What bounds a call: what the user sets, else what the model's profile says. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from ...blocks.profile import Profile
from ...pricing import Price
from ...task_ir import StepSettings, Tier, TierName
from ...tasks.subagent.request import CallLimits
from ..events import ConcurrencyLimits
from ..options import SwarmOptions, TierOptions

__all__ = [
    "Models",
    "call_limits",
    "concurrency_limits",
]


T = TypeVar("T")

_TIERS: tuple[Tier, ...] = ("worker", "coder", "architect")
_UNKNOWN = Profile()


@dataclass(frozen=True, slots=True)
class Models:
    """What is known of a run's models before it starts, by their names.

    Attributes:
        prices: US dollars for a token; a name that isn't there has no known price.
    """

    profiles: Mapping[str, Profile] = field(default_factory=dict[str, Profile])
    prices: Mapping[str, Price] = field(default_factory=dict[str, Price])

    def profile(self, name: str) -> Profile:
        """Return the profile of a model; one without bounds where it isn't known."""
        return self.profiles.get(name, _UNKNOWN)


def call_limits(
    options: SwarmOptions,
    tier: TierName,
    profile: Profile,
    step: StepSettings | None = None,
    timeout_s: float | None = None,
) -> CallLimits:
    """Return what bounds a call: of step, tier, run and profile the first that says it.

    Args:
        options: What the user sets for the run and its tiers.
        tier: The tier that the call is on.
        profile: The profile of the model that is called.
        step: What the plan sets for the step.
        timeout_s: Seconds that the plan gives the step.
    """
    step, own = step or StepSettings(), options.tiers.get(tier, TierOptions())
    seed = step.seed if step.seed is not None else options.seed
    return CallLimits(
        max_input_tokens=_first(
            step.max_input_tokens,
            own.max_input_tokens,
            options.max_input_tokens,
            profile.max_input_tokens,
        ),
        max_output_tokens=_first(
            step.max_output_tokens,
            own.max_output_tokens,
            options.max_output_tokens,
            profile.max_output_tokens,
        ),
        temperature=_first(
            step.temperature, own.temperature, options.temperature, profile.temperature
        ),
        top_p=step.top_p,
        thinking=step.thinking,
        seed=seed or 0,
        seed_is_set=seed is not None,
        timeout_s=timeout_s or own.timeout_s or options.step_timeout_s or profile.timeout_s,
    )


def concurrency_limits(options: SwarmOptions, models: Models) -> ConcurrencyLimits:
    """Return how many attempts may run at once: what the models take where nobody says."""
    names: dict[Tier, str] = {tier: options.model_of(tier) for tier in _TIERS}
    tiers: dict[str, int] = {
        tier: _first(
            options.tiers.get(tier, TierOptions()).concurrency, models.profile(name).concurrency
        )
        or 1
        for tier, name in names.items()
    }
    if options.max_concurrency is not None:
        own = {tier for tier, given in options.tiers.items() if given.concurrency is not None}
        bounded = {tier: most for tier, most in tiers.items() if tier in own}
        return ConcurrencyLimits(options.max_concurrency, bounded)
    # Tiers that one model serves share what it takes.
    by_model: dict[str, int] = {}
    for tier, name in names.items():
        by_model[name] = max(by_model.get(name, 0), tiers[tier])
    return ConcurrencyLimits(sum(by_model.values()), {**tiers})


def _first(*values: T | None) -> T | None:
    return next((value for value in values if value is not None), None)


"""Tokens of an answer where nobody bounds it: about 500 words."""
