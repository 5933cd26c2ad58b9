"""Promote invented personas that do well and retire those that do badly, by evidence. Pure.

A review only goes forward: candidate, promoted, retired. Each change needs new attempts, twice as
many as the one before, and a rate that differs clearly from the others' rate; there is a margin
between promoting and retiring. So reviews change a persona's status at most twice. Only a person
can change it back.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from pydantic import ConfigDict, Field

from ...data_types import Frozen
from ..episode import EpisodeKey, LogEntry
from ..learning.reward import SILENT
from .registry import Action, Change, DecisionEvidence, KnownPersona, Registry, Status

__all__ = ["Beliefs", "ReviewOutcome", "ReviewPolicy", "bounds", "collect_outcomes", "review"]


class ReviewOutcome(NamedTuple):
    """How an attempt ended that counts for its persona."""

    position: int
    succeeded: bool
    key: EpisodeKey


Beliefs = Mapping[tuple[str, str], tuple[ReviewOutcome, ...]]
"""The latest outcomes by (persona, task type), in the order of the log."""


class ReviewPolicy(Frozen):
    """When a review decides.

    Reviewed after each of 200 attempts, a persona exactly as good as the others is promoted in 5 of
    100 cases and retired in 2; a difference of 30 points is found after 10 to 25 attempts (median),
    of 15 to 20 points after 30 to 55.
    """

    model_config = ConfigDict(allow_inf_nan=False)

    samples: int = Field(default=10, ge=1, description="Attempts before the first decision.")
    deviations: float = Field(
        default=2.5, gt=0, description="Standard deviations that a rate's bounds lie apart from it."
    )
    margin: float = Field(
        default=0.05, ge=0, le=1, description="How far below the others the upper bound has to be."
    )
    prior_rate: float = Field(default=0.5, ge=0, le=1, description="Rate where nothing is known.")
    prior_samples: float = Field(default=4.0, gt=0, description="Attempts that this counts as.")
    kept: int = Field(default=20, ge=1, description="Episodes that evidence names.")


DEFAULT = ReviewPolicy()


def collect_outcomes(
    entries: Iterable[LogEntry],
    before: Beliefs | None = None,
    *,
    blameless: Collection[EpisodeKey] = (),
    window: int = 200,
) -> Beliefs:
    """Add a namespace's episodes, in the order of the log, to what was observed before.

    Attempts that failed through no fault of their persona are left out.

    Args:
        blameless: Failures that another step is blamed for.
        window: Outcomes that are kept of each persona and task type, the latest.
    """
    found: dict[tuple[str, str], list[ReviewOutcome]] = defaultdict(list)
    for position, episode in entries:
        blamed_elsewhere = not episode.succeeded and (
            episode.category in SILENT or episode.key in blameless
        )
        if not blamed_elsewhere:
            outcome = ReviewOutcome(position, episode.succeeded, episode.key)
            found[episode.persona, episode.task_type].append(outcome)
    merged = dict(before or {})
    for arm, outcomes in found.items():
        merged[arm] = (*merged.get(arm, ()), *outcomes)[-window:]
    return merged


def bounds(successes: int, samples: int, deviations: float) -> tuple[float, float]:
    """Return the Wilson bounds of a rate of 1 or more samples, 0 to 1."""
    rate, square = successes / samples, deviations**2
    middle = (rate + square / (2 * samples)) / (1 + square / samples)
    spread = math.sqrt(rate * (1 - rate) / samples + square / (4 * samples**2))
    spread *= deviations / (1 + square / samples)
    # At rates of 0 and 1 the bounds are exact except for rounding.
    return max(0.0, min(rate, middle - spread)), min(1.0, max(rate, middle + spread))


def review(
    registry: Registry, beliefs: Beliefs, policy: ReviewPolicy = DEFAULT, *, at: float
) -> tuple[Change, ...]:
    """Decide about every invented persona that no person has decided about, by name.

    Args:
        beliefs: What was observed, of this registry's namespace.
        at: Now, in seconds since the Unix epoch.
    """
    standard = _Standard(registry, beliefs, policy)
    arms: dict[str, dict[str, tuple[ReviewOutcome, ...]]] = defaultdict(dict)
    for (persona, task_type), outcomes in beliefs.items():
        arms[persona][task_type] = outcomes
    changes = (
        _decide(known, arms[name], standard, policy, at)
        for name, known in sorted(registry.known.items())
        if known.origin == "invented" and not known.is_held and known.status != "retired"
    )
    return tuple(
        change.model_copy(update={"follows": registry.last.get(change.persona, 0)})
        for change in changes
        if change
    )


def _decide(
    known: KnownPersona,
    arms: Mapping[str, Sequence[ReviewOutcome]],
    standard: _Standard,
    policy: ReviewPolicy,
    at: float,
) -> Change | None:
    fresh = {
        task_type: [outcome for outcome in outcomes if outcome.position > known.position]
        for task_type, outcomes in arms.items()
    }
    decided = sum(change.by == "review" for change in known.changes)
    if sum(map(len, fresh.values())) < policy.samples * 2**decided:
        return None
    evidence = _evidence(fresh, standard, policy)
    if known.status == "candidate" and evidence.low > evidence.baseline:
        return _change(known, "promote", "promoted", evidence, fresh, at)
    if evidence.high < evidence.baseline - policy.margin:
        return _change(known, "retire", "retired", evidence, fresh, at)
    return None


def _evidence(
    fresh: Mapping[str, Sequence[ReviewOutcome]], standard: _Standard, policy: ReviewPolicy
) -> DecisionEvidence:
    outcomes = sorted(outcome for some in fresh.values() for outcome in some)
    successes = sum(outcome.succeeded for outcome in outcomes)
    low, high = bounds(successes, len(outcomes), policy.deviations)
    counts = {task_type: len(some) for task_type, some in sorted(fresh.items()) if some}
    return DecisionEvidence(
        successes=successes,
        failures=len(outcomes) - successes,
        rate=successes / len(outcomes),
        low=low,
        high=high,
        baseline=sum(standard.rate(task_type) * n for task_type, n in counts.items())
        / len(outcomes),
        baseline_samples=sum(standard.samples[task_type] for task_type in counts),
        task_types=counts,
        episodes=tuple(outcome.key for outcome in outcomes[-policy.kept :]),
    )


def _change(
    known: KnownPersona,
    action: Action,
    after: Status,
    evidence: DecisionEvidence,
    fresh: Mapping[str, Sequence[ReviewOutcome]],
    at: float,
) -> Change:
    return Change(
        persona=known.persona.name,
        action=action,
        before=known.status,
        after=after,
        by="review",
        reason=_sentence(evidence),
        evidence=evidence,
        position=max(outcome.position for some in fresh.values() for outcome in some),
        at=at,
    )


def _sentence(evidence: DecisionEvidence) -> str:
    attempts = evidence.successes + evidence.failures
    return (
        f"{evidence.rate:.0%} over {attempts} attempts, surely {evidence.low:.0%} to "
        f"{evidence.high:.0%}; the others {evidence.baseline:.0%} over {evidence.baseline_samples}"
    )


class _Standard:
    """How often the personas from files succeed at each type of task."""

    def __init__(self, registry: Registry, beliefs: Beliefs, policy: ReviewPolicy) -> None:
        self.samples = Counter[str]()
        self._successes = Counter[str]()
        self._weight = policy.prior_samples
        for (persona, task_type), outcomes in beliefs.items():
            known = registry.known.get(persona)
            if known is not None and known.origin != "invented":
                self.samples[task_type] += len(outcomes)
                self._successes[task_type] += sum(outcome.succeeded for outcome in outcomes)
        self._overall = self._shrink(
            self._successes.total(), self.samples.total(), policy.prior_rate
        )

    def rate(self, task_type: str) -> float:
        """Return their rate at a type, shrunk towards their rate at all types."""
        return self._shrink(self._successes[task_type], self.samples[task_type], self._overall)

    def _shrink(self, successes: int, samples: int, prior: float) -> float:
        return (successes + self._weight * prior) / (samples + self._weight)
