"""Compare a plan with the wanted plan: steps, edges and words. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..task_ir import Step, TaskIR
from ..tasks.planner.adapter.score import words
from .assignment import assign

__all__ = ["Agreement", "agreement"]

_SCALE = 1000
"""`assign` takes whole numbers: word overlap is counted in thousandths."""


@dataclass(frozen=True)
class Agreement:
    """How well a plan matches the wanted plan.

    Attributes:
        readable: There is a plan.
        exact: It has the wanted steps and edges, and each step has half of the wanted words.
        matched_edges: Edges of the plan that are wanted.
        plan_edges: All edges of the plan.
        wanted_edges: All edges of the wanted plan.
        faithful: Recall of the wanted steps' words in the steps paired with them, 0..1.
        word_f1: F1 of the same words, so that words added to a step count too.
    """

    readable: bool
    exact: bool
    matched_edges: int
    plan_edges: int
    wanted_edges: int
    faithful: float
    word_f1: float


def agreement(plan: TaskIR | None, wanted: TaskIR) -> Agreement:
    """Pair the steps by their words; compare their words and dependencies."""
    wanted_needs = _needs(wanted.steps)
    wanted_edges = sum(map(len, wanted_needs))
    if plan is None:
        return Agreement(False, False, 0, 0, wanted_edges, 0.0, 0.0)
    plan_needs = _needs(plan.steps)
    wanted_words = [words(step.prompt) for step in wanted.steps]
    plan_words = [words(step.prompt) for step in plan.steps]
    similarities = [[_similarity(left, right) for right in plan_words] for left in wanted_words]
    pairs = assign(similarities).pairs
    matched_edges = sum(
        pairs[need] in plan_needs[pairs[step]]
        for step, upstream in enumerate(wanted_needs)
        for need in upstream
        if step in pairs and need in pairs
    )
    plan_edges = sum(map(len, plan_needs))
    shared_counts = [
        len(step_words & plan_words[pairs[step]]) if step in pairs else 0
        for step, step_words in enumerate(wanted_words)
    ]
    exact = (
        len(plan_needs) == len(wanted_needs)
        and matched_edges == wanted_edges == plan_edges
        and all(
            2 * count >= len(step_words)
            for count, step_words in zip(shared_counts, wanted_words, strict=True)
        )
    )
    wanted_total, plan_total = sum(map(len, wanted_words)), sum(map(len, plan_words))
    faithful = sum(shared_counts) / max(1, wanted_total)
    word_f1 = 2 * sum(shared_counts) / max(1, wanted_total + plan_total)
    return Agreement(True, exact, matched_edges, plan_edges, wanted_edges, faithful, word_f1)


def _needs(steps: Sequence[Step]) -> list[frozenset[int]]:
    places = {step.id: place for place, step in enumerate(steps)}
    return [frozenset(places[need] for need in step.depends_on) for step in steps]


def _similarity(left: frozenset[str], right: frozenset[str]) -> int:
    return _SCALE * len(left & right) // max(1, len(left | right))
