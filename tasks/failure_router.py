"""The failure router: one pure decision about what follows a failed attempt, by a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from ..errors import Category
from ..memory.learning.mitigation import better_mitigation, is_proven, precedent
from ..plan.task_ir import TIERS, Tier
from ..store.attempt import Action, Decision, excerpt
from ..store.failure_policy import Policy
from ..store.result import Mitigation

__all__ = ["ATTEMPTS_SPENT", "Bounds", "Failure", "counts", "feedback", "route"]

ATTEMPTS_SPENT = "attempts spent"
"""The rule by which a step that has had all its attempts ends."""

_NOT_THE_MODELS = (Category.INFRASTRUCTURE, Category.UNAVAILABLE)
_NOT_FED_BACK = (*_NOT_THE_MODELS, Category.TRUNCATED)
_FED_BACK: tuple[Action, ...] = ("RETRY", "THINK_HARDER", "ESCALATE", "DELEGATE", "ASK")


@dataclass(frozen=True, slots=True)
class Failure:
    """A failed attempt, as far as the decision reads it.

    Attributes:
        action: What had led to the attempt; None for the first one of a step.
        revision: How often the step had been replaced before.
        symptom: The message without what differs each time, as the memory knows it.
    """

    category: Category
    tier: Tier
    message: str
    action: Action | None = None
    revision: int = 0
    symptom: str = ""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The bounds of a step's decisions.

    Attributes:
        max_attempts: Attempts the step may take in all; those that failed by INFRASTRUCTURE or
            UNAVAILABLE don't count, since they say nothing about the model.
        ladder: The tiers there are to climb, cheapest first; tiers that another name for the same
            model would serve are left out, since the same model fails the same way.
        optional: Whether the plan succeeds without the step.
        replans_left: Times that a step of the run may still be replaced.
        can_delegate: Whether another persona can do the step.
        can_keep: Whether a text that is cut off is worth more than none.
        known: What was done about failures in earlier runs, and how often that worked.
    """

    max_attempts: int = 9
    ladder: tuple[Tier, ...] = TIERS
    optional: bool = False
    replans_left: int = 0
    can_delegate: bool = False
    can_keep: bool = False
    known: tuple[Mitigation, ...] = ()


def route(history: Sequence[Failure], policy: Policy, bounds: Bounds) -> Decision:
    """Decide what the last failure of a step leads to.

    The n-th failure of a category on a tier leads to the n-th action of its rule, of those that are
    possible: ESCALATE is passed over where no tier is above, REPLAN where no replacement is left,
    DELEGATE where no other persona fits, ASK where the plan succeeds without the step. Where the
    memory knows that this action mostly fails, and that a later one of the rule does better, that
    one comes first. It always ends: each action of a rule is taken once, tiers are only climbed,
    and there is a last attempt, after which only an ASK of the rule may give another. A step that
    was replaced begins its rules again.

    Args:
        history: The step's failed attempts, oldest first; at least one.
    """
    last = history[-1]
    actions = policy.rules[last.category]
    if not actions:
        reason = f"{last.category} is not tried again"
        return _give_up(bounds, last, f"{last.category}: never", reason)
    counted = sum(counts(failure.category) for failure in history)
    if counted >= bounds.max_attempts:
        reason = f"attempt {counted} of {bounds.max_attempts} was the last"
        if "KEEP" in actions and bounds.can_keep:
            return _decision("KEEP", last, ATTEMPTS_SPENT, reason)
        if _may_ask(history, actions, bounds):
            return _decision("ASK", last, ATTEMPTS_SPENT, reason, tier=last.tier)
        return _give_up(bounds, last, ATTEMPTS_SPENT, reason)
    same = sum(_is_like(failure, last) for failure in history)
    count = f"{last.category} failure {same} on tier {last.tier}"
    possible: list[Action] = [action for action in actions if _is_open(action, last, bounds)]
    remaining, taken = _remaining(possible, history)
    if not remaining:
        return _give_up(
            bounds, last, f"{last.category}: nothing left", f"{count} was the last allowed"
        )
    above = _above(last.tier, bounds.ladder)
    # A person is asked when the table says so, however often that has worked.
    later = [] if remaining[0] == "ASK" else remaining[1:]
    others: list[Action] = [action for action in later if action != "ASK"]
    better = better_mitigation(
        remaining[0],
        others,
        above,
        last.symptom,
        bounds.known,
        samples=policy.samples,
        tier=last.tier,
    )
    action = better[0].action if better else remaining[0]
    rule = f"{last.category}: {' → '.join([*taken, action])}"
    decision = _take(action, last, policy, bounds, rule, count, same)
    return _with_memory(decision, last, bounds, better)


def counts(category: Category) -> bool:
    """Say whether a failure counts among a step's attempts: it says something about the model."""
    return category not in _NOT_THE_MODELS


def _is_like(failure: Failure, last: Failure) -> bool:
    """Whether it is of the same category, on the same tier, of the step as it is now."""
    return (failure.category, failure.tier, failure.revision) == (
        last.category,
        last.tier,
        last.revision,
    )


def _remaining(
    possible: Sequence[Action], history: Sequence[Failure]
) -> tuple[list[Action], list[Action]]:
    """The actions that such failures here haven't led to yet, and those that they have."""
    remaining, taken = list(possible), list[Action]()
    for failure, following in pairwise(history):
        if remaining and _is_like(failure, history[-1]):
            led = following.action if following.action in remaining else remaining[0]
            remaining.remove(led)
            taken.append(led)
    return remaining, taken


def _may_ask(history: Sequence[Failure], actions: Sequence[Action], bounds: Bounds) -> bool:
    """Whether a person can still be asked about a step that has had all its attempts."""
    asked = sum(failure.action == "ASK" for failure in history)
    return not bounds.optional and asked < actions.count("ASK")


def _with_memory(
    decision: Decision,
    last: Failure,
    bounds: Bounds,
    better: tuple[Mitigation, Mitigation] | None,
) -> Decision:
    """Say why the memory decided otherwise, and which earlier repair the next attempt is shown."""
    rule, reason, example = decision.rule, decision.reason, None
    if better:
        chosen, due = better
        rule = f"{rule} (by memory)"
        reason = f"{reason}; {_counts(chosen)} such failures, {_counts(due)}"
    if decision.action in _FED_BACK:
        done = precedent(decision.action, decision.tier, last.symptom, bounds.known)
        example = done.example if done and is_proven(done) else None
    if example:
        source = f"{example.step}.{example.attempt} of run {example.run}"
        reason = f"{reason}; it is shown what passed as {source}"
    return decision.model_copy(update={"rule": rule, "reason": reason, "example": example})


def _counts(mitigation: Mitigation) -> str:
    return f"{mitigation.action} repaired {mitigation.worked} of {mitigation.tried}"


def _is_open(action: Action, last: Failure, bounds: Bounds) -> bool:
    match action:
        case "ESCALATE":
            return _above(last.tier, bounds.ladder) is not None
        case "REPLAN":
            return bounds.replans_left > 0
        case "DELEGATE":
            return bounds.can_delegate
        case "KEEP":
            return bounds.can_keep
        case "ASK":
            return not bounds.optional
        case _:
            return True


def _take(
    action: Action,
    last: Failure,
    policy: Policy,
    bounds: Bounds,
    rule: str,
    count: str,
    same: int,
) -> Decision:
    if action in ("SKIP", "FAIL", "KEEP"):
        return _decision(action, last, rule, count)
    tier = _above(last.tier, bounds.ladder) if action == "ESCALATE" else last.tier
    return _decision(
        action,
        last,
        rule,
        count if tier == last.tier else f"{count}; {tier} is next",
        tier=tier,
        samples=policy.samples if action == "SAMPLE" else 1,
        delay_s=_delay(last, policy, same),
    )


def _delay(last: Failure, policy: Policy, same: int) -> float:
    """Seconds to wait: a model can be asked again immediately, a machine that is down can't."""
    return policy.backoff_s * 2 ** (same - 1) if last.category is Category.INFRASTRUCTURE else 0.0


def _give_up(bounds: Bounds, last: Failure, rule: str, reason: str) -> Decision:
    return _decision("SKIP" if bounds.optional else "FAIL", last, rule, reason)


def _decision(
    action: Action,
    last: Failure,
    rule: str,
    reason: str,
    *,
    tier: Tier | None = None,
    samples: int = 1,
    delay_s: float = 0.0,
) -> Decision:
    return Decision(
        action=action,
        rule=rule,
        reason=reason,
        tier=tier,
        evidence=excerpt(last.message),
        samples=samples,
        delay_s=delay_s,
    )


def _above(tier: Tier, ladder: tuple[Tier, ...]) -> Tier | None:
    for candidate in TIERS[TIERS.index(tier) + 1 :]:
        if candidate in ladder:
            return candidate
    return None


def feedback(history: Sequence[Failure], limit: int) -> str:
    """The feedback for the next attempt: what was wrong, the newest first, nothing twice.

    In at most `limit` characters and a note on what is left out.

    What broke on the way to a model, and what was only cut off, is left out: it is nothing that the
    model could repair.
    """
    messages = [failure.message for failure in history if failure.category not in _NOT_FED_BACK]
    distinct = list(dict.fromkeys(reversed(messages)))
    return excerpt(" Before that: ".join(distinct), limit)
