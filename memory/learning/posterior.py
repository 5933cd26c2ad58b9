"""The posterior of each arm of a choice. Pure.

Three levels, each the prior of the next: the rate of all steps, the arm's outcomes on related
steps, and those on steps of the same kind. So a persona that did well on related steps is expected
to do well here, and few outcomes on the same kind of step are enough to correct that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from .config import DEFAULTS, LearningConfig
from .evidence import Evidence, WeightedOutcome, weigh

__all__ = ["Posterior", "posterior", "posteriors", "probability_better"]

_Arm = TypeVar("_Arm", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Posterior:
    """A Beta distribution of an arm's success rate.

    Attributes:
        mean: Of the rate, 0 to 1.
        strength: Sum of both counts of the Beta distribution, prior included.
        samples: Total weight of the arm's outcomes, without the prior.
        attempts: Number of these outcomes.
    """

    mean: float
    strength: float
    samples: float = 0.0
    attempts: int = 0

    @property
    def variance(self) -> float:
        """Variance of the rate."""
        return self.mean * (1 - self.mean) / (self.strength + 1)


def posterior(
    found: Sequence[WeightedOutcome], expected: float, config: LearningConfig = DEFAULTS
) -> Posterior:
    """Return the posterior of an arm from its expected rate and its outcomes.

    Args:
        expected: Success rate without any outcomes, 0 to 1.
    """
    related = related_won = near = near_won = 0.0
    for _, success, wide, narrow in found:
        related += wide
        related_won += wide * success
        near += narrow
        near_won += narrow * success
    known = config.base_strength + related
    mean = (config.base_strength * expected + related_won) / known
    # Related steps say less about this kind of step than about their own.
    prior = 1 / (1 / config.related_strength + 1 / known)
    strength = prior + near
    return Posterior((prior * mean + near_won) / strength, strength, related, len(found))


def posteriors(
    expected: Mapping[_Arm, float],
    evidence: Iterable[Evidence],
    arm_of: Callable[[Evidence], _Arm],
    config: LearningConfig = DEFAULTS,
) -> dict[_Arm, Posterior]:
    """Return the posterior of each arm; attempts of other arms don't count.

    Args:
        expected: Success rate that is expected of each arm, 0 to 1.
        arm_of: Which arm an attempt is of.
    """
    found: dict[_Arm, list[Evidence]] = {arm: [] for arm in expected}
    for outcome in evidence:
        if (arm := arm_of(outcome)) in found:
            found[arm].append(outcome)
    weighed = weigh(found, config)
    return {arm: posterior(weighed[arm], rate, config) for arm, rate in expected.items()}


def probability_better(first: Posterior, second: Posterior) -> float:
    """Probability that the first rate is higher; normal approximation."""
    spread = math.sqrt(first.variance + second.variance)
    difference = first.mean - second.mean
    if spread == 0:
        return 0.5 + 0.5 * ((difference > 0) - (difference < 0))
    return 0.5 * (1 + math.erf(difference / spread / math.sqrt(2)))
