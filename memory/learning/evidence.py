"""What similar attempts say about a choice: outcomes and their weights. Pure.

An attempt's weight rises with its similarity, falls with the number of later comparable attempts,
and is small if the rate has changed since.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import NamedTuple, TypeVar

from ...task_ir import Tier
from ..episode import EpisodeKey, LogEntry
from .config import DEFAULTS, LearningConfig
from .credit import SILENT, Credit

__all__ = ["Evidence", "WeightedOutcome", "evidence_of", "find_change", "ramp", "weigh"]

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
