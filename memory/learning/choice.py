"""The choice of a step's persona and tier. Pure: the same log and seed give the same choice."""

from __future__ import annotations

import hashlib
import math
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ...plan.task_ir import Tier
from ..episode import Episode, EpisodeKey, LogEntry
from .beliefs import Tally
from .evidence import Evidence, Posterior, posteriors, probability_better
from .reward import DEFAULTS, LearningConfig

__all__ = [
    "ChoiceSource",
    "MemoryCandidate",
    "PromptSimilarity",
    "RankedMemory",
    "Suggestion",
    "choose_persona",
    "choose_tier",
    "expected_cost",
    "recall",
    "step_rng",
]


ChoiceSource = Literal["memory", "exploration", "rules"]
_TIE = 1e-6
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A choice and the reasons for it.

    Attributes:
        picked: A persona's or a tier's name.
        by: What decided: the evidence of similar steps, exploration, or the plan.
        why: One sentence for people.
        rate: Expected success rate, 0 to 1; None if nothing is known.
        attempts: Similar attempts that it is based on.
        confidence: Probability of being better than the choice of the rules.
        explored: Whether another choice had the best evidence.
        evidence: The most similar of those attempts.
    """

    picked: str
    by: ChoiceSource
    why: str
    rate: float | None = None
    attempts: int = 0
    confidence: float = 0.5
    explored: bool = False
    evidence: tuple[EpisodeKey, ...] = ()


def step_rng(run: str, step: str, seed: int = 0) -> random.Random:
    """The random generator of a step of a run."""
    digest = hashlib.sha256(f"{seed}/{run}/{step}".encode()).digest()
    return random.Random(int.from_bytes(digest[:8], "big"))  # noqa: S311


def choose_persona(
    candidates: Sequence[str],
    evidence: Sequence[Evidence],
    expected: float,
    rng: random.Random,
    *,
    tallies: Mapping[str, Tally] | None = None,
    explore: bool = True,
    config: LearningConfig = DEFAULTS,
) -> Suggestion:
    """Choose the persona of a step.

    Args:
        candidates: Names, at least one; the planner's own first, which is what the rules take.
        evidence: Attempts at similar steps, of any persona.
        expected: Success rate of all steps so far, 0 to 1, expected of candidates without evidence.
        tallies: Outcomes of candidates on the step's task type, if any, from `Beliefs.tallies`:
            also those too old or not similar enough to be among the evidence.
        explore: Whether a candidate may be taken to learn about it.
    """
    rules = candidates[0]
    rates = {name: _prior_rate(expected, (tallies or {}).get(name), config) for name in candidates}
    beliefs = posteriors(rates, evidence, lambda outcome: outcome.persona, config)
    known = sum(belief.samples for belief in beliefs.values())
    if known < config.min_samples:
        attempts = sum(belief.attempts for belief in beliefs.values())
        return Suggestion(rules, "rules", f"{_explain_few(attempts, evidence)}; the plan decides")

    def draw(name: str) -> float:
        belief = beliefs[name]
        spread = config.optimism * math.sqrt(belief.variance)
        return rng.gauss(belief.mean, spread) + _TIE * rng.random()

    picked = max(candidates, key=draw)
    best = max(candidates, key=lambda name: beliefs[name].mean)
    chosen = beliefs[picked]
    confidence = probability_better(chosen, beliefs[rules])
    trusted = chosen.samples >= config.min_samples and (
        picked == rules or confidence >= config.min_confidence
    )
    if not trusted and not explore:
        return _follow_rules(rules, beliefs, picked, confidence, evidence)
    return Suggestion(
        picked=picked,
        by="memory" if trusted else "exploration",
        why=_explain(picked, beliefs, trusted=trusted),
        rate=chosen.mean,
        attempts=chosen.attempts,
        confidence=confidence,
        explored=not trusted or picked != best,
        evidence=_evidence_keys(evidence, picked),
    )


def _prior_rate(rate: float, tally: Tally | None, config: LearningConfig) -> float:
    """The expected success rate of a candidate without similar steps."""
    if tally is None:
        return rate
    known = config.base_strength + tally.won + tally.lost
    return (config.base_strength * rate + tally.won) / known


def _follow_rules(
    rules: str,
    beliefs: dict[str, Posterior],
    other: str,
    confidence: float,
    evidence: Sequence[Evidence],
) -> Suggestion:
    own, rival = beliefs[rules], beliefs[other]
    return Suggestion(
        picked=rules,
        by="rules",
        why=f"no other persona does better: {other} {_format_rate(rival)}; the plan decides",
        rate=own.mean if own.attempts else None,
        attempts=own.attempts,
        confidence=1 - confidence,
        evidence=_evidence_keys(evidence, rules),
    )


def _explain(picked: str, beliefs: dict[str, Posterior], *, trusted: bool) -> str:
    others = {
        name: belief for name, belief in beliefs.items() if name != picked and belief.attempts
    }
    reason = (
        _format_rate(beliefs[picked]) if beliefs[picked].attempts else "never tried on such steps"
    )
    if not trusted:
        reason = f"to find out: {reason}"
    if not others:
        return reason
    rival = max(others, key=lambda name: others[name].mean)
    label = "next best" if others[rival].mean <= beliefs[picked].mean else "best so far"
    return f"{reason}; {label} {round(100 * others[rival].mean)} % ({rival})"


def _format_rate(belief: Posterior) -> str:
    return f"{round(100 * belief.mean)} % over {_count_similar(belief.attempts)}"


def _explain_few(attempts: int, evidence: Sequence[Evidence]) -> str:
    if attempts:
        return f"only {_count_similar(attempts)} so far"
    return "only agents of other plans did similar steps" if evidence else "no similar step so far"


def _count_similar(attempts: int) -> str:
    return f"{attempts} similar step{'' if attempts == 1 else 's'}"


def _evidence_keys(evidence: Sequence[Evidence], persona: str) -> tuple[EpisodeKey, ...]:
    return tuple(outcome.key for outcome in evidence if outcome.persona == persona)[:_SHOWN]


_DRAWS = 100
_LEAST = 1e-3


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


PromptSimilarity = Callable[[Episode, Episode], float]
"""Similarity of two episodes' prompts, -1 to 1."""

_POOL = 10


@dataclass(frozen=True, slots=True)
class MemoryCandidate:
    """A memory that might help.

    Attributes:
        similarity: Of its prompt to the step's, -1 to 1.
        q: Its value where it was used; `Beliefs.q_of_memory`.
    """

    entry: LogEntry
    similarity: float
    q: float


@dataclass(frozen=True, slots=True)
class RankedMemory:
    """A recalled memory; scores are relative to the memories recalled with it."""

    entry: LogEntry
    similarity: float
    q: float
    score: float


def recall(
    candidates: Iterable[MemoryCandidate],
    prompt_similarity: PromptSimilarity,
    config: LearningConfig = DEFAULTS,
) -> list[RankedMemory]:
    """Return the memories that most likely help, best first; none if none is similar enough.

    Args:
        candidates: In any order, each entry once.
        prompt_similarity: Called only for memories that are similar enough.
    """
    passed = [candidate for candidate in candidates if candidate.similarity >= config.gate]
    passed.sort(key=_nearness_key)
    selected = sorted(
        _drop_duplicates(passed[: _POOL * config.candidates], prompt_similarity, config),
        key=_nearness_key,
    )
    selected = selected[: config.candidates]
    similarities = _z_scores([candidate.similarity for candidate in selected])
    values = _z_scores([candidate.q for candidate in selected])
    ranked = [
        RankedMemory(
            candidate.entry,
            candidate.similarity,
            candidate.q,
            (1 - config.q_weight) * similarity + config.q_weight * value,
        )
        for candidate, similarity, value in zip(selected, similarities, values, strict=True)
    ]
    # Sorting is stable: equal scores stay in the order of similarity.
    return sorted(ranked, key=lambda memory: -memory.score)


def _nearness_key(candidate: MemoryCandidate) -> tuple[float, int]:
    return (-candidate.similarity, -candidate.entry.position)


def _drop_duplicates(
    candidates: Sequence[MemoryCandidate],
    prompt_similarity: PromptSimilarity,
    config: LearningConfig,
) -> list[MemoryCandidate]:
    """Leave out near duplicates of better memories.

    Better has a higher q, then succeeded, then is more similar, then is newer.
    """
    selected: list[MemoryCandidate] = []
    for candidate in sorted(
        candidates,
        key=lambda candidate: (
            -candidate.q,
            not candidate.entry.episode.succeeded,
            *_nearness_key(candidate),
        ),
    ):
        mine = candidate.entry.episode
        digest = mine.digest
        if not any(
            other.entry.episode.digest == digest
            or prompt_similarity(mine, other.entry.episode) > config.duplicate
            for other in selected
        ):
            selected.append(candidate)
    return selected


def _z_scores(values: Sequence[float]) -> list[float]:
    """Standard scores; all 0 where nothing varies."""
    if not values:
        return []
    mean = math.fsum(values) / len(values)
    spread = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / len(values))
    # Values that differ by rounding alone don't vary.
    if spread <= 1e-9 * max(1.0, abs(mean)):
        return [0.0] * len(values)
    return [(value - mean) / spread for value in values]
