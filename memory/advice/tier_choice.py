"""On which tier a step begins. Pure; the same log and seed give the same choice.

Beginning on a tier costs its attempts, and those on the tiers above if they fail. If a cheap tier
nearly always fails, starting there costs more. Success rates are drawn from the posterior of each
tier (Thompson sampling), so that a tier that was given up is tried again at times.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from ...task_ir import Tier
from ..learning.config import DEFAULTS, LearningConfig
from ..learning.evidence import Evidence
from ..learning.posterior import Posterior, posteriors
from .persona_choice import Suggestion

__all__ = ["choose_tier", "expected_cost"]

_DRAWS = 100
_LEAST = 1e-3
_SHOWN = 5


def choose_tier(
    ladder: Sequence[Tier],
    evidence: Sequence[Evidence],
    expected: float,
    rng: random.Random,
    *,
    explore: bool = True,
    config: LearningConfig = DEFAULTS,
) -> Suggestion:
    """Choose the tier of a step's first attempt.

    Args:
        ladder: The tiers it may have, cheapest first, at least one; the first is the plan's, and
            the step never begins below it.
        evidence: Attempts at similar steps, of any persona.
        expected: Success rate of all attempts so far, 0 to 1.
    """
    planned = ladder[0]
    rates: dict[Tier, float] = dict.fromkeys(ladder, expected)
    beliefs = posteriors(rates, evidence, _tier_of, config)
    own = beliefs[planned]
    if own.samples < config.min_samples or len(ladder) == 1:
        return Suggestion(
            planned, "rules", "the plan's tier: too little is known of it on such steps"
        )
    means: dict[Tier, float] = {tier: belief.mean for tier, belief in beliefs.items()}
    best: Tier = _cheapest_tier(ladder, means, config)
    draws: list[Tier] = [
        _cheapest_tier(ladder, _draw_rates(beliefs, rng), config) for _ in range(_DRAWS)
    ]
    raised = sum(tier != planned for tier in draws) / _DRAWS
    # Any draw is a Thompson sample; the first is used.
    picked: Tier = draws[0] if explore else best
    if best == planned or raised < config.min_confidence:
        # Exploring higher tiers only costs: escalations already show their rates.
        return _suggest(planned, planned, beliefs, 1 - raised, evidence)
    return _suggest(picked, best, beliefs, raised if picked != planned else 1 - raised, evidence)


def expected_cost(
    ladder: Sequence[Tier], rates: Mapping[Tier, float], config: LearningConfig = DEFAULTS
) -> float:
    """Expected cost of beginning on the first of these tiers, in units of `config.prices`."""
    cost = config.failure_price
    for tier in reversed(ladder):
        rate = min(1.0, max(_LEAST, rates[tier]))
        failed = (1 - rate) ** config.tries
        attempts = (1 - failed) / rate
        cost = config.prices[tier] * attempts + failed * cost
    return cost


def _cheapest_tier(
    ladder: Sequence[Tier], rates: Mapping[Tier, float], config: LearningConfig
) -> Tier:
    starts = range(len(ladder))
    return ladder[min(starts, key=lambda at: expected_cost(ladder[at:], rates, config))]


def _tier_of(outcome: Evidence) -> Tier:
    return outcome.tier


def _draw_rates(beliefs: Mapping[Tier, Posterior], rng: random.Random) -> dict[Tier, float]:
    return {
        tier: rng.betavariate(
            max(belief.mean * belief.strength, _LEAST),
            max((1 - belief.mean) * belief.strength, _LEAST),
        )
        for tier, belief in beliefs.items()
    }


def _suggest(
    picked: Tier,
    best: Tier,
    beliefs: Mapping[Tier, Posterior],
    confidence: float,
    evidence: Sequence[Evidence],
) -> Suggestion:
    belief = beliefs[picked]
    reason = "; ".join(
        f"{tier} {round(100 * other.mean)} % over {other.attempts}"
        for tier, other in beliefs.items()
        if other.attempts
    )
    explored = picked != best
    return Suggestion(
        picked=picked,
        by="exploration" if explored else "memory",
        why=f"{'to find out again' if explored else 'cheapest way to a success'}: {reason}",
        rate=belief.mean,
        attempts=belief.attempts,
        confidence=confidence,
        explored=explored,
        evidence=tuple(entry.key for entry in evidence if entry.tier == picked)[:_SHOWN],
    )
