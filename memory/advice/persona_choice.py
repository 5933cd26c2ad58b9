"""Which persona a step is given to. Pure; the same log and seed give the same choice.

The persona whose success rate on similar steps is drawn highest is taken (Thompson sampling, from
a normal distribution narrower than what is believed: `optimism` says by how much). Each is drawn
by itself, so that steps side by side don't all try the same unknown one, and those about as good
as the best are told apart more often than hopeless ones are tried again. A persona that isn't
better than the planner's own with enough confidence, over enough samples, is taken only to find
out; where that isn't wanted, the rules decide.
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
from ..learning.posterior import Posterior, better, posteriors

__all__ = ["By", "Suggestion", "choose_persona", "step_rng"]

By = Literal["memory", "exploration", "rules"]
_TIE = 1e-6
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Suggestion:
    """What was chosen, and why.

    Attributes:
        picked: A persona's or a tier's name.
        by: What decided: what similar steps showed, the wish to find out, or the plan as it is.
        why: One sentence for people.
        rate: Expected success rate, 0 to 1; None if nothing is known.
        attempts: Similar attempts that this rests on.
        confidence: Probability of being better than what the rules would have taken.
        explored: Whether something else looked best by what is known.
        evidence: The most similar of those attempts.
    """

    picked: str
    by: By
    why: str
    rate: float | None = None
    attempts: int = 0
    confidence: float = 0.5
    explored: bool = False
    evidence: tuple[EpisodeKey, ...] = ()


def step_rng(run: str, step: str, seed: int = 0) -> random.Random:
    """Randomness of one step of one run."""
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
        expected: Success rate of all steps so far, 0 to 1: what nothing is known of is held to be
            like that.
        tallies: Outcomes of candidates on the step's task type, as far as there are: what is too
            long ago, or not similar enough, to be among the evidence; `Beliefs.tallies` has them.
        explore: Whether one may be taken to find out; never where a failure costs too much.
    """
    rules = candidates[0]
    rates = {name: _expected(expected, (tallies or {}).get(name), config) for name in candidates}
    beliefs = posteriors(rates, evidence, lambda outcome: outcome.persona, config)
    known = sum(belief.samples for belief in beliefs.values())
    if known < config.min_samples:
        attempts = sum(belief.attempts for belief in beliefs.values())
        return Suggestion(rules, "rules", f"{_few(attempts, evidence)}; the plan decides")

    def draw(name: str) -> float:
        belief = beliefs[name]
        spread = config.optimism * math.sqrt(belief.variance)
        return rng.gauss(belief.mean, spread) + _TIE * rng.random()

    picked = max(candidates, key=draw)
    best = max(candidates, key=lambda name: beliefs[name].mean)
    chosen = beliefs[picked]
    confidence = better(chosen, beliefs[rules])
    trusted = chosen.samples >= config.min_samples and (
        picked == rules or confidence >= config.min_confidence
    )
    if not trusted and not explore:
        return _left_to_rules(rules, beliefs, picked, confidence, evidence)
    return Suggestion(
        picked=picked,
        by="memory" if trusted else "exploration",
        why=_why(picked, beliefs, trusted=trusted),
        rate=chosen.mean,
        attempts=chosen.attempts,
        confidence=confidence,
        explored=not trusted or picked != best,
        evidence=_keys(evidence, picked),
    )


def _expected(rate: float, tally: Tally | None, config: LearningConfig) -> float:
    """Success rate that is expected of a candidate before similar steps are looked at."""
    if tally is None:
        return rate
    known = config.base_strength + tally.won + tally.lost
    return (config.base_strength * rate + tally.won) / known


def _left_to_rules(
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
        why=f"nobody else is known to do better: {other} {_percent(rival)}; the plan decides",
        rate=own.mean if own.attempts else None,
        attempts=own.attempts,
        confidence=1 - confidence,
        evidence=_keys(evidence, rules),
    )


def _why(picked: str, beliefs: dict[str, Posterior], *, trusted: bool) -> str:
    others = {
        name: belief for name, belief in beliefs.items() if name != picked and belief.attempts
    }
    reason = _percent(beliefs[picked]) if beliefs[picked].attempts else "never tried on such steps"
    if not trusted:
        reason = f"to find out: {reason}"
    if not others:
        return reason
    rival = max(others, key=lambda name: others[name].mean)
    label = "next best" if others[rival].mean <= beliefs[picked].mean else "best so far"
    return f"{reason}; {label} {round(100 * others[rival].mean)} % ({rival})"


def _percent(belief: Posterior) -> str:
    return f"{round(100 * belief.mean)} % over {_similar(belief.attempts)}"


def _few(attempts: int, evidence: Sequence[Evidence]) -> str:
    if attempts:
        return f"only {_similar(attempts)} so far"
    return "only agents of other plans did similar steps" if evidence else "no similar step so far"


def _similar(attempts: int) -> str:
    return f"{attempts} similar step{'' if attempts == 1 else 's'}"


def _keys(evidence: Sequence[Evidence], persona: str) -> tuple[EpisodeKey, ...]:
    return tuple(outcome.key for outcome in evidence if outcome.persona == persona)[:_SHOWN]
