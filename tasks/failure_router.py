"""What a failed attempt leads to: one pure decision, by a table of rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from ..errors import Category
from ..result import Decision
from ..task_ir import TIERS, Tier

__all__ = ["RULES", "Failure", "Policy", "Rule", "route"]


@dataclass(frozen=True, slots=True)
class Rule:
    """How often a category is tried again on its tier, and whether it escalates after that."""

    retries: int
    escalates: bool


RULES: Mapping[Category, Rule] = MappingProxyType(
    {
        Category.FORMAT: Rule(retries=2, escalates=False),
        Category.SCHEMA: Rule(retries=2, escalates=False),
        Category.CODE: Rule(retries=2, escalates=True),
        Category.LOGIC: Rule(retries=1, escalates=True),
        Category.TIMEOUT: Rule(retries=0, escalates=True),
        Category.EARLY_ABORT: Rule(retries=0, escalates=True),
        Category.INFRASTRUCTURE: Rule(retries=2, escalates=False),
        Category.BUDGET: Rule(retries=0, escalates=False),
        Category.UPSTREAM: Rule(retries=0, escalates=False),
        Category.UNKNOWN: Rule(retries=1, escalates=True),
    }
)


@dataclass(frozen=True, slots=True)
class Failure:
    """A failed attempt, as far as the decision reads it."""

    category: Category
    tier: Tier
    message: str


@dataclass(frozen=True, slots=True)
class Policy:
    """The bounds of a decision.

    Attributes:
        max_attempts: Attempts the step may take in all.
        ladder: The tiers there are to climb, cheapest first; tiers that another name for the same
            model would serve are left out, since the same model fails the same way.
    """

    max_attempts: int = 3
    ladder: tuple[Tier, ...] = TIERS
    optional: bool = False
    rules: Mapping[Category, Rule] = field(default_factory=lambda: RULES)


def route(history: Sequence[Failure], policy: Policy) -> Decision:
    """Decide what the last failure of a step leads to.

    Args:
        history: The step's failed attempts, oldest first; at least one.
        policy: The bounds.
    """
    last = history[-1]
    rule = policy.rules[last.category]
    here = [failure for failure in history if failure.tier == last.tier]
    same = sum(failure.category == last.category for failure in here)
    if rule.retries == 0 and not rule.escalates:
        return _give_up(policy, last, "never-retried", f"{last.category} is never tried again")
    if len(history) >= policy.max_attempts:
        reason = f"attempt {len(history)} of {policy.max_attempts} was the last"
        return _give_up(policy, last, "attempts-spent", reason)
    if same <= rule.retries:
        return Decision(
            action="RETRY",
            rule=f"{last.category}: retry {rule.retries}×",
            reason=f"{last.category} failure {same} on tier {last.tier}",
            tier=last.tier,
            feedback=last.message,
        )
    above = _above(last.tier, policy.ladder)
    if rule.escalates and above is not None:
        return Decision(
            action="ESCALATE",
            rule=f"{last.category}: escalate after {rule.retries}",
            reason=f"{last.category} failure {same} on tier {last.tier}; {above} is next",
            tier=above,
            feedback=last.message,
        )
    reason = (
        f"no tier above {last.tier} has another model"
        if rule.escalates
        else f"{last.category} failed {same} times and does not escalate"
    )
    return _give_up(policy, last, "nothing-left", reason)


def _give_up(policy: Policy, last: Failure, rule: str, reason: str) -> Decision:
    return Decision(
        action="SKIP" if policy.optional else "FAIL",
        rule=rule,
        reason=reason,
        feedback=last.message,
    )


def _above(tier: Tier, ladder: tuple[Tier, ...]) -> Tier | None:
    for candidate in TIERS[TIERS.index(tier) + 1 :]:
        if candidate in ladder:
            return candidate
    return None
