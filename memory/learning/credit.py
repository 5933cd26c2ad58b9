"""The reward of an attempt, and which earlier step is to blame for a failure. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from ...errors import Category
from ...frozen import Frozen
from ...result import Action
from ...task_ir import Tier
from ..episode import Episode, EpisodeKey, GateOutcome
from .config import DEFAULTS, LearningConfig

__all__ = [
    "SILENT",
    "Credit",
    "Outcome",
    "Reward",
    "Trace",
    "credit",
    "outcome_of",
    "reward_of",
    "shape_reward",
]


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
