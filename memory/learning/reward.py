"""The reward of an attempt. Pure.

It is the outcome's value less a penalty for each failed gate and each escalation, by
`LearningConfig`. While little is known, a bonus for what was seldom tried is mixed in.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from ...errors import Category
from ..episode import GateOutcome
from .config import DEFAULTS, LearningConfig

__all__ = ["SILENT", "Outcome", "Reward", "outcome_of", "reward_of", "shape_reward"]

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
