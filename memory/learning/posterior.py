"""One belief, and the posterior of each arm of a choice. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict

from .config import DEFAULTS, LearningConfig
from .evidence import Evidence, WeightedOutcome, weigh

__all__ = [
    "Contribution",
    "Posterior",
    "Tally",
    "ValueEstimate",
    "posterior",
    "posteriors",
    "probability_better",
]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class Tally(NamedTuple):
    """Outcomes by weight: how many succeeded and failed."""

    won: float
    lost: float

    @property
    def rate(self) -> float:
        """Success rate, shrunk towards one half."""
        return (self.won + 1) / (self.won + self.lost + 2)


class Contribution(_Model):
    """What an outcome has put into an estimate.

    Attributes:
        at: The estimate's samples with it.
        before: The estimate's Q before it.
        first: What Q was moved towards at first.
        target: What Q counts as moved towards now; `before` leaves no trace.
        won, lost: What it has added to the counts.
    """

    at: int
    before: float
    first: float
    target: float
    won: float
    lost: float


class ValueEstimate(_Model):
    """A belief.

    Attributes:
        q: Expected reward.
        won, lost: Outcomes, older ones counting less: a Beta posterior's counts without its prior.
        samples: Outcomes ever.
    """

    q: float
    won: float = 0.0
    lost: float = 0.0
    samples: int = 0

    def learn(self, target: float, success: float, alpha: float, half_life: float) -> Contribution:
        """Learn from an outcome: a reward to move towards, and a success from 0 to 1."""
        kept, before = 0.5 ** (1 / half_life), self.q
        self.q += alpha * (target - self.q)
        self.won = self.won * kept + success
        self.lost = self.lost * kept + 1 - success
        self.samples += 1
        return Contribution(
            at=self.samples,
            before=before,
            first=target,
            target=target,
            won=success,
            lost=1 - success,
        )

    def correct(
        self,
        contribution: Contribution,
        target: float,
        won: float,
        lost: float,
        alpha: float,
        half_life: float,
    ) -> Contribution:
        """Replace an earlier outcome by another."""
        age = self.samples - contribution.at
        kept = 0.5 ** (age / half_life)
        self.q += alpha * (1 - alpha) ** age * (target - contribution.target)
        self.won = max(0.0, self.won + kept * (won - contribution.won))
        self.lost = max(0.0, self.lost + kept * (lost - contribution.lost))
        return contribution.model_copy(update={"target": target, "won": won, "lost": lost})


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
