"""Evidence of similar attempts about a choice, and the posterior of each arm. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict

from ...errors import Category
from ...plan.task_ir import Tier
from ..episode import EpisodeKey, LogEntry
from .credit import DEFAULTS, SILENT, Credit, LearningConfig

__all__ = [
    "Contribution",
    "Duration",
    "Evidence",
    "Pace",
    "Posterior",
    "Tally",
    "ValueEstimate",
    "WeightedOutcome",
    "evidence_of",
    "expected_duration",
    "find_change",
    "is_timed",
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
        success: 1 or 0, or between where another step has a share in the failure.
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
    credited: Mapping[str, Credit] | None = None,
    config: LearningConfig = DEFAULTS,
) -> list[Evidence]:
    """Return the outcomes of similar attempts, the most similar first, at most `config.neighbours`.

    Args:
        similar: Entries of one namespace and their similarity.
        credited: What credit changed, by `str(EpisodeKey)`; `Beliefs` has it.
    """
    changed = credited or {}
    found: list[Evidence] = []
    for entry, similarity in similar:
        episode = entry.episode
        credit = changed.get(str(episode.key))
        success = float(episode.succeeded) if credit is None else credit.success
        if success is None or (not episode.succeeded and episode.category in SILENT):
            continue
        if ramp(similarity, config.related, config.ramp) > 0:
            found.append(
                Evidence(
                    episode.key,
                    entry.position,
                    similarity,
                    episode.persona,
                    episode.tier,
                    success,
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
        kept = 0.5 ** (newer / config.half_life)
        aged.append(WeightedOutcome(position, success, related * kept, near * kept))
        newer += related
    return aged


def _discount(
    found: Sequence[WeightedOutcome], own: int | None, last: int, config: LearningConfig
) -> list[WeightedOutcome]:
    """Reduce the weight of outcomes before the arm's own change, or else before any arm's last."""
    before, kept = (last, config.elsewhere) if own is None else (own, config.outdated)
    return [
        outcome
        if outcome.position >= before
        else WeightedOutcome(
            outcome.position, outcome.success, outcome.related * kept, outcome.near * kept
        )
        for outcome in found
    ]


_PRIOR = 2.0
_SHORTEST_S = 1e-3
_UNTIMED = SILENT | {Category.EARLY_ABORT}


class Duration(NamedTuple):
    """Expected seconds, a geometric mean, and how many attempts of the same kind it is based on."""

    seconds: float
    samples: int


class Pace(BaseModel):
    """A running mean of the logarithm of seconds; older attempts count less."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    total: float = 0.0
    weight: float = 0.0
    samples: int = 0

    def learn(self, seconds: float, half_life: float) -> None:
        """Add a duration."""
        kept = 0.5 ** (1 / half_life)
        self.total = self.total * kept + math.log(max(seconds, _SHORTEST_S))
        self.weight = self.weight * kept + 1
        self.samples += 1


def is_timed(category: Category | None) -> bool:
    """Whether an attempt's duration is typical, by its category; None for a success."""
    return category not in _UNTIMED


def expected_duration(levels: Iterable[Iterable[Pace]], samples: int) -> Duration | None:
    """Expect a duration from paces, level by level, the widest first; None without paces.

    Each level is shrunk towards the previous one, the more the fewer samples it has.
    """
    mean: float | None = None
    for level in levels:
        paces = list(level)
        weight = sum(pace.weight for pace in paces)
        if not weight:
            break
        total = sum(pace.total for pace in paces)
        mean = total / weight if mean is None else (total + _PRIOR * mean) / (weight + _PRIOR)
    return None if mean is None else Duration(math.exp(mean), samples)


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
