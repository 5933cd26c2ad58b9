"""Evidence of similar attempts about a choice, and the posterior of each arm. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import NamedTuple, TypeVar

from ...plan.task_ir import Tier
from ..episode import EpisodeKey, LogEntry
from .reward import DEFAULTS, SILENT, LearningConfig

__all__ = [
    "Evidence",
    "Posterior",
    "WeightedOutcome",
    "evidence_of",
    "find_change",
    "posterior",
    "posteriors",
    "probability_better",
    "ramp",
    "weigh",
]


_position = itemgetter(1)
_Arm = TypeVar("_Arm", bound=Hashable)
_LEAST = 3.0
_UNSURE = 0.5


class Evidence(NamedTuple):
    """How an attempt at a similar step ended.

    Attributes:
        position: Its place in the log.
        success: 1 or 0.
    """

    key: EpisodeKey
    position: int
    similarity: float
    persona: str
    tier: Tier
    success: float


class WeightedOutcome(NamedTuple):
    """One outcome of an arm, and its weights as a related step and as a step of the same kind."""

    position: int
    success: float
    related: float
    near: float


def evidence_of(
    similar: Iterable[tuple[LogEntry, float]],
    config: LearningConfig = DEFAULTS,
) -> list[Evidence]:
    """Return the outcomes of similar attempts, the most similar first, at most `config.neighbours`.

    Args:
        similar: Entries of one namespace and their similarity.
    """
    found: list[Evidence] = []
    for entry, similarity in similar:
        episode = entry.episode
        if not episode.succeeded and episode.category in SILENT:
            continue
        if ramp(similarity, config.related, config.ramp) > 0:
            found.append(
                Evidence(
                    episode.key,
                    entry.position,
                    similarity,
                    episode.persona,
                    episode.tier,
                    float(episode.succeeded),
                )
            )
    found.sort(key=lambda outcome: (-outcome.similarity, -outcome.position))
    return found[: config.neighbours]


def ramp(similarity: float, middle: float, width: float) -> float:
    """Rise from 0 to 1 around a similarity."""
    return min(1.0, max(0.0, (similarity - middle) / width + 0.5))


def weigh(
    by_arm: Mapping[_Arm, Sequence[Evidence]], config: LearningConfig = DEFAULTS
) -> dict[_Arm, list[WeightedOutcome]]:
    """Weigh each outcome; arms keep their order, outcomes come newest first."""
    weighed = {arm: _age(found, config) for arm, found in by_arm.items()}
    changes = {arm: find_change(found, config) for arm, found in weighed.items()}
    last = max((at for at in changes.values() if at is not None), default=None)
    if last is None:
        return weighed
    return {arm: _discount(found, changes[arm], last, config) for arm, found in weighed.items()}


def find_change(
    newest_first: Sequence[WeightedOutcome], config: LearningConfig = DEFAULTS
) -> int | None:
    """Return the position from which an arm's rate has changed, None if it hasn't.

    By the likelihood of two rates, before and after, against that of a single rate.
    """
    total = sum(outcome.related for outcome in newest_first)
    if total < 2 * _LEAST:
        return None
    won = sum(outcome.related * outcome.success for outcome in newest_first)
    whole = _likelihood(won, total)
    best, found = config.change / 2, None
    new = new_won = 0.0
    for outcome in newest_first:
        new += outcome.related
        new_won += outcome.related * outcome.success
        if new < _LEAST or total - new < _LEAST:
            continue
        gain = _likelihood(new_won, new) + _likelihood(won - new_won, total - new) - whole
        if gain > best:
            best, found = gain, outcome.position
    return found


def _likelihood(won: float, total: float) -> float:
    """Log-likelihood of outcomes under their own rate, kept away from 0 and 1."""
    rate = (won + _UNSURE) / (total + 2 * _UNSURE)
    return won * math.log(rate) + (total - won) * math.log1p(-rate)


def _age(found: Sequence[Evidence], config: LearningConfig) -> list[WeightedOutcome]:
    aged: list[WeightedOutcome] = []
    newer, width = 0.0, config.ramp
    # `ramp`, inlined: this runs for every neighbour of every choice.
    wide, narrow = 0.5 - config.related / width, 0.5 - config.near / width
    for _, position, similarity, _, _, success in sorted(found, key=_position, reverse=True):
        related = min(1.0, max(0.0, similarity / width + wide))
        near = min(1.0, max(0.0, similarity / width + narrow))
        decay = 0.5 ** (newer / config.half_life)
        aged.append(WeightedOutcome(position, success, related * decay, near * decay))
        newer += related
    return aged


def _discount(
    found: Sequence[WeightedOutcome], own: int | None, last: int, config: LearningConfig
) -> list[WeightedOutcome]:
    """Reduce the weight of outcomes before the arm's own change, or else before any arm's last."""
    before, decay = (last, config.elsewhere) if own is None else (own, config.outdated)
    return [
        outcome
        if outcome.position >= before
        else WeightedOutcome(
            outcome.position, outcome.success, outcome.related * decay, outcome.near * decay
        )
        for outcome in found
    ]


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
