"""The reward of an attempt, and which earlier step is to blame for a failure. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, Self

from pydantic import ConfigDict, Field, model_validator

from ...data_types import Frozen
from ...errors import Category
from ...plan.task_ir import TIERS, Tier
from ...store.attempt import Action
from ..episode import Episode, EpisodeKey, GateOutcome

__all__ = [
    "DEFAULTS",
    "SILENT",
    "Credit",
    "LearningConfig",
    "Outcome",
    "Reward",
    "Trace",
    "credit",
    "outcome_of",
    "reward_of",
    "shape_reward",
]


def _prices() -> dict[Tier, float]:
    return {"worker": 1.0, "coder": 3.0, "architect": 9.0}


class LearningConfig(Frozen):
    """The terms of a reward, how fast beliefs move, and when they are trusted.

    Rewards are those of one attempt; rates are shares of attempts that succeeded, 0 to 1.
    """

    model_config = ConfigDict(allow_inf_nan=False)

    success: float = Field(default=1.0, description="Reward of an attempt that succeeded.")
    partial: float = Field(default=0.3, description="Of one most of whose gates passed.")
    failure: float = Field(default=-0.5, description="Of any other.")
    failed_gate: float = Field(default=-0.1, description="Added for each gate that failed.")
    escalation: float = Field(default=-0.15, description="Added for each tier it had climbed.")

    shaping: float = Field(
        default=0.3, ge=0, le=1, description="λ of the bonus for what was seldom tried, at first."
    )
    shaping_steps: int = Field(default=50, ge=1, description="Attempts after which λ is 0.")

    blame: float = Field(
        default=0.6, gt=0, le=1, description="Of the blame, how much reaches one step further up."
    )
    blame_depth: int = Field(default=3, ge=1, description="How many steps up blame goes.")

    initial_q: float = Field(default=0.5, description="Q of what was never tried.")
    alpha: float = Field(default=0.1, gt=0, le=1, description="How fast a persona's Q moves.")
    memory_alpha: float = Field(default=0.3, gt=0, le=1, description="How fast a memory's does.")
    half_life: float = Field(
        default=200.0, gt=0, description="Samples after which an outcome counts half."
    )
    duration_half_life: float = Field(default=20.0, gt=0, description="The same for a duration.")
    open_runs: int = Field(
        default=256, ge=1, description="Runs, latest first, whose rewards blame can still change."
    )

    gate: float = Field(default=0.3, ge=-1, le=1, description="Similarity below which is nothing.")
    candidates: int = Field(default=5, ge=1, description="Memories that are recalled, at most.")
    duplicate: float = Field(
        default=0.95, gt=0, le=1, description="Similarity above which two memories are the same."
    )
    q_weight: float = Field(
        default=0.5, ge=0, le=1, description="λ of the ranking: weight of Q against similarity."
    )

    min_samples: float = Field(
        default=3.0, ge=0, description="Samples, by their weight, below which the rules decide."
    )
    min_confidence: float = Field(
        default=0.6, ge=0.5, le=1, description="Probability of being better that is trusted."
    )
    related: float = Field(
        default=0.25, ge=-1, le=1, description="Similarity from which a step says something."
    )
    near: float = Field(
        default=0.6, ge=-1, le=1, description="Similarity from which it is of the same kind."
    )
    ramp: float = Field(
        default=0.3, gt=0, description="Width, around both, over which weights rise from 0 to 1."
    )
    base_strength: float = Field(
        default=2.0, gt=0, description="Samples that the rate of all steps is worth."
    )
    related_strength: float = Field(
        default=4.0, gt=0, description="Samples that related steps are worth, at most."
    )
    optimism: float = Field(
        default=0.2, ge=0, description="Of a rate's standard deviation, what draws of it have."
    )
    change: float = Field(
        default=10.0, gt=0, description="Twice the log-likelihood ratio that shows a change."
    )
    outdated: float = Field(
        default=0.1, ge=0, le=1, description="What an outcome from before a change still counts."
    )
    elsewhere: float = Field(
        default=0.5, ge=0, le=1, description="The same, for others than what changed."
    )
    neighbours: int = Field(default=200, ge=1, description="Similar attempts that are looked at.")
    prices: Mapping[Tier, float] = Field(
        default_factory=_prices, description="What an attempt costs on each tier."
    )
    failure_price: float = Field(
        default=20.0, ge=0, description="What it costs if the highest tier fails, too."
    )
    tries: float = Field(
        default=2.0, ge=1, description="Attempts that a tier is given before the next one."
    )

    @model_validator(mode="after")
    def _check_figures(self) -> Self:
        if set(self.prices) != set(TIERS) or min(self.prices.values()) <= 0:
            raise ValueError(f"prices has a positive price for each of {', '.join(TIERS)}")
        if not self.failure <= self.partial <= self.success:
            raise ValueError("failure, partial and success are worth more in this order")
        return self


DEFAULTS = LearningConfig()


Outcome = Literal["success", "partial", "failure", "nothing"]

SILENT = frozenset(
    {Category.UNAVAILABLE, Category.INFRASTRUCTURE, Category.BUDGET, Category.UPSTREAM}
)
"""Failures that say nothing about who failed: a machine, a budget or another step was at fault."""


class Reward(NamedTuple):
    """A reward, and the terms whose sum it is, by name."""

    value: float
    terms: Mapping[str, float]


def outcome_of(
    succeeded: bool, category: Category | None, gates: Sequence[GateOutcome] = ()
) -> Outcome:
    """Classify how an attempt ended.

    It is `partial` if it failed, but more of its gates passed than failed, and `nothing` if its
    failure is one of `SILENT`.
    """
    if succeeded:
        return "success"
    if category in SILENT:
        return "nothing"
    passed = sum(gate.status == "passed" for gate in gates)
    failed = sum(gate.status == "failed" for gate in gates)
    return "partial" if passed > failed else "failure"


def reward_of(
    succeeded: bool,
    category: Category | None,
    gates: Sequence[GateOutcome] = (),
    *,
    escalations: int = 0,
    config: LearningConfig = DEFAULTS,
) -> Reward:
    """Compute an attempt's reward; the outcome `nothing` gives 0 and no terms.

    Args:
        escalations: How often its step had been given to a higher tier before.
    """
    outcome = outcome_of(succeeded, category, gates)
    if outcome == "nothing":
        return Reward(0.0, {})
    base = {"success": config.success, "partial": config.partial, "failure": config.failure}
    failed = sum(gate.status == "failed" for gate in gates)
    terms = {outcome: base[outcome]}
    if failed:
        terms["failed gates"] = config.failed_gate * failed
    if escalations:
        terms["escalations"] = config.escalation * escalations
    return Reward(math.fsum(terms.values()), terms)


def shape_reward(
    reward: float, tried: float, step: int, config: LearningConfig = DEFAULTS
) -> float:
    """Mix in a bonus for what was seldom tried: λ/√(N + 1) + (1 − λ)·r, with λ annealed to 0.

    Args:
        tried: N, how often it had been tried before.
        step: Attempts that were learned from before, of anything.
    """
    weight = config.shaping * max(0.0, 1 - step / config.shaping_steps)
    return weight / math.sqrt(tried + 1) + (1 - weight) * reward


_ENDS = ("SKIP", "FAIL")


class Trace(Frozen):
    """An attempt, as far as credit reads it. Those of one run belong together."""

    key: EpisodeKey
    persona: str
    tier: Tier
    succeeded: bool
    category: Category | None
    decision: Action | None
    reward: float
    upstream: tuple[str, ...] = ()
    apart: bool = False
    """Whether it failed only together with its input."""

    @property
    def is_last(self) -> bool:
        """Whether its step has failed with it."""
        return not self.succeeded and self.decision in _ENDS

    @classmethod
    def from_episode(cls, episode: Episode) -> Trace:
        """Read an episode."""
        failed = {gate.gate for gate in episode.gates if gate.status == "failed"}
        return cls(
            key=episode.key,
            persona=episode.persona,
            tier=episode.tier,
            succeeded=episode.succeeded,
            category=episode.category,
            decision=episode.decision,
            reward=episode.reward,
            upstream=episode.upstream,
            apart="integration" in failed and "unit" not in failed,
        )


class Credit(Frozen):
    """An attempt's corrected outcome.

    Attributes:
        success: Share of success, 0 to 1; None if it says nothing about who tried.
        reward: As `LearningConfig` values it; None if nothing is to be learned from it.
    """

    success: float | None
    reward: float | None
    reason: str


def credit(traces: Sequence[Trace], config: LearningConfig = DEFAULTS) -> dict[EpisodeKey, Credit]:
    """Return the attempts of a run whose credit differs from their outcome, and why.

    All others keep their outcome. Later attempts of the run may change the result.
    """
    steps: dict[str, list[Trace]] = {}
    for trace in sorted(traces, key=lambda trace: trace.key.attempt):
        steps.setdefault(trace.key.step, []).append(trace)
    changed: dict[EpisodeKey, Credit] = {}
    blamed: dict[str, list[tuple[float, str]]] = {}
    for name, attempts in steps.items():
        excused, reason = _find_excused(attempts)
        shares = _blame_shares(name, steps, config) if excused else {}
        # Without anyone else to blame, it was the step's own fault.
        if not shares:
            continue
        givers = ", ".join(step for step in _accepted_upstream(name, steps))
        for trace in excused:
            changed[trace.key] = Credit(
                success=None, reward=None, reason=f"{reason}; what {givers} gave is blamed"
            )
        for step, share in shares.items():
            blamed.setdefault(step, []).append((share, f"{name} failed on it: {reason}"))
    for name, found in blamed.items():
        accepted = _accepted_attempt(steps[name])
        if accepted is not None:
            changed[accepted.key] = _credit_blamed(accepted, found, config)
    return changed


def _find_excused(attempts: Sequence[Trace]) -> tuple[list[Trace], str]:
    """The attempts of a step that failed because of its input, and the sign of that."""
    if any(trace.succeeded for trace in attempts) or not attempts[-1].is_last:
        return [], ""
    upstream = [trace for trace in attempts if trace.category == Category.UPSTREAM]
    if upstream:
        return upstream, "its input was no good"
    apart = [trace for trace in attempts if trace.apart]
    if apart and apart[-1] is attempts[-1]:
        return apart, "alone it passed its tests, not together with its input"
    telling = [trace for trace in attempts if trace.category not in SILENT]
    tried = {(trace.persona, trace.tier) for trace in telling}
    if len(tried) > 1 and all(trace.category == Category.LOGIC for trace in telling):
        return telling, f"all {len(tried)} who tried got a wrong result"
    return [], ""


def _blame_shares(
    name: str, steps: Mapping[str, Sequence[Trace]], config: LearningConfig
) -> dict[str, float]:
    """How much of the blame each step above takes, 0 to 1, nearest first."""
    shares: dict[str, float] = {}
    level = {name: 1.0}
    for _ in range(config.blame_depth):
        above: dict[str, float] = {}
        for step, weight in level.items():
            givers = _accepted_upstream(step, steps)
            for giver in givers:
                if giver not in shares and giver != name:
                    above[giver] = above.get(giver, 0.0) + weight * config.blame / len(givers)
        shares.update(above)
        level = above
    return shares


def _accepted_upstream(name: str, steps: Mapping[str, Sequence[Trace]]) -> list[str]:
    names = dict.fromkeys(step for trace in steps[name] for step in trace.upstream)
    return [step for step in names if step in steps and _accepted_attempt(steps[step]) is not None]


def _accepted_attempt(attempts: Sequence[Trace]) -> Trace | None:
    """The attempt whose output others read."""
    return next((trace for trace in reversed(attempts) if trace.succeeded), None)


def _credit_blamed(
    accepted: Trace, found: Sequence[tuple[float, str]], config: LearningConfig
) -> Credit:
    kept = 1.0
    for share, _ in found:
        kept *= 1 - min(share, 1.0)
    return Credit(
        success=kept,
        reward=kept * accepted.reward + (1 - kept) * min(accepted.reward, config.failure),
        reason="; ".join(dict.fromkeys(reason for _, reason in found)),
    )
