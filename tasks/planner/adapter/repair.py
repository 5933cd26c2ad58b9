"""Repairs a plan that a small model wrote, where the objective leaves no doubt. Pure.

A rule stays if plans that nobody had read when it was written are right more often with it, by more
than chance: `benches/planning/ablation.py`. One is left.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ....task_ir import TaskIR

__all__ = ["RULES", "RepairedPlan", "Rule", "repair_by", "repair_plan"]


class RepairedPlan(NamedTuple):
    """A plan, and what was changed in it, a clause each."""

    plan: TaskIR
    notes: tuple[str, ...] = ()


Rule = Callable[[TaskIR], RepairedPlan]


def repair_plan(plan: TaskIR) -> RepairedPlan:
    """Repair a plan by the objective it has; repairing it once more changes nothing."""
    return repair_by(RULES, plan)


def repair_by(rules: Sequence[Rule], plan: TaskIR) -> RepairedPlan:
    """Repair a plan by some of the rules, one after another."""
    notes: tuple[str, ...] = ()
    for rule in rules:
        plan, clauses = rule(plan)
        notes += clauses
    return RepairedPlan(plan, notes)


def ask_what_was_asked(plan: TaskIR) -> RepairedPlan:
    """Let a plan of one step ask in the objective's own words: nothing of it is lost."""
    step = plan.steps[0]
    if len(plan.steps) > 1 or step.prompt == plan.objective:
        return RepairedPlan(plan)
    asked = step.model_copy(update={"prompt": plan.objective})
    repaired = plan.model_copy(update={"steps": (asked,)})
    return RepairedPlan(repaired, (f"{step.id} asks what the objective asks",))


RULES: tuple[Rule, ...] = (ask_what_was_asked,)
"""All rules, in the order in which they are applied."""
