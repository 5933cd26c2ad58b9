"""Which persona a step is given to. Pure; the same log and seed give the same choice.

The success rate of each persona on similar steps is drawn, and the highest is taken (Thompson
sampling, from a normal distribution that `optimism` makes narrower than the posterior). Each step
draws for itself, so that parallel steps don't all try the same unknown persona, and personas about
as good as the best are tried more often than bad ones. A persona that isn't better than the
planner's own with enough confidence, over enough samples, is only taken to explore; without
exploration, the rules decide.
"""

from __future__ import annotations

import hashlib
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ..episode import EpisodeKey
from ..learning.config import DEFAULTS, LearningConfig
from ..learning.estimate import Tally
from ..learning.evidence import Evidence
from ..learning.posterior import Posterior, posteriors, probability_better

__all__ = ["ChoiceSource", "Suggestion", "choose_persona", "step_rng"]

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
