"""Repairs a plan that a small model wrote, where the objective leaves no doubt. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ....task_ir import OutputKind, TaskIR

__all__ = ["RULES", "RepairedPlan", "Rule", "output_kind", "repair_by", "repair_plan"]


_MAKES = (
    r"(?:write|create|implement|build|make|code|develop|program|add|provide|give|generate|produce)"
)
# A word has an end that is found without looking back: else each blank is one more way to read it.
_UP_TO = r"(?:\W{1,9}+\w[\w'’.`-]{0,40}+){0,6}?\W{1,9}"
_CODE = r"(?:function|class|script|program|module|decorator|generator|method|parser|tests?|code)"
_ABOUT = re.compile(
    r"\b(?:explain|describe|review|summari[sz]e|compare|translate|document|discuss|plan|estimate|"
    r"research|find out|say)\b",
    re.IGNORECASE,
)
_PYTHON = re.compile(
    rf"\b{_MAKES}\b{_UP_TO}(?:python|pytest)\b{_UP_TO}{_CODE}\b"
    rf"|\b{_MAKES}\b{_UP_TO}{_CODE}\b.{{0,200}}\b(?:in python|with pytest|using pytest)\b"
    rf"|\b{_MAKES}\b{_UP_TO}\w{{1,40}}\.py\b"
    r"|\b(?:python|pytest)\W{1,9}(?:function|class|script|program|module|tests?)\b",
    re.IGNORECASE,
)
_SHELL = re.compile(
    rf"\b{_MAKES}\b{_UP_TO}(?:bash|shell|sh)\W{{1,9}}(?:script|function|one-liner|command)\b"
    rf"|\b{_MAKES}\b{_UP_TO}\w{{1,40}}\.sh\b",
    re.IGNORECASE,
)
_JSON = re.compile(
    rf"\b(?:as|in|return|{_MAKES})\b(?:\W{{1,9}}+\w{{1,40}}+){{0,3}}?\W{{1,9}}json\b", re.IGNORECASE
)


def output_kind(prompt: str) -> OutputKind:
    """Return the kind of output that a prompt asks for; text where it isn't plainly another.

    A plan in lines doesn't say, since a small model that says it says it wrong. Taking code for
    text costs its gates; taking text for code would fail it.
    """
    if _ABOUT.match(prompt):
        return "text"
    if _PYTHON.search(prompt):
        return "python"
    if _SHELL.search(prompt):
        return "shell"
    return "json" if _JSON.search(prompt) else "text"


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
