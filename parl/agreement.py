"""How far a plan agrees with the plan that was wanted: steps, edges and words. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..task_ir import Step, TaskIR
from ..tasks.planner.local.score import words
from .assignment import assign

__all__ = ["Agreement", "agreement"]

_FINE = 1000  # words are shared in thousandths


@dataclass(frozen=True)
class Agreement:
    """How far one plan agrees.

    Attributes:
        readable: There is a plan.
        exact: It has the wanted steps and edges, and each step says half of the wanted words.
        right: Edges of the plan that are wanted.
        said: Edges of the plan.
        wanted: Edges that are wanted.
        faithful: Share of the wanted steps' words that their steps say, 0..1.
        words: F1 of the words of paired steps, so that what is said beyond them counts too.
    """

    readable: bool
    exact: bool
    right: int
    said: int
    wanted: int
    faithful: float
    words: float


def agreement(plan: TaskIR | None, wanted: TaskIR) -> Agreement:
    """Pair the steps by their words and compare what they say and need."""
    expected = _needs(wanted.steps)
    edges = sum(map(len, expected))
    if plan is None:
        return Agreement(False, False, 0, 0, edges, 0.0, 0.0)
    needs = _needs(plan.steps)
    here = [words(step.prompt) for step in wanted.steps]
    there = [words(step.prompt) for step in plan.steps]
    pairs = assign([[_likeness(one, other) for other in there] for one in here]).pairs
    right = sum(
        pairs[need] in needs[pairs[step]]
        for step, upstream in enumerate(expected)
        for need in upstream
        if step in pairs and need in pairs
    )
    said = sum(map(len, needs))
    kept = [
        len(here[step] & there[pairs[step]]) if step in pairs else 0 for step in range(len(here))
    ]
    exact = (
        len(needs) == len(expected)
        and right == edges == said
        and all(2 * count >= len(wanted) for count, wanted in zip(kept, here, strict=True))
    )
    asked, told, same = sum(map(len, here)), sum(map(len, there)), sum(kept)
    faithful, shared = same / max(1, asked), 2 * same / max(1, asked + told)
    return Agreement(True, exact, right, said, edges, faithful, shared)


def _needs(steps: Sequence[Step]) -> list[frozenset[int]]:
    places = {step.id: place for place, step in enumerate(steps)}
    return [frozenset(places[need] for need in step.depends_on) for step in steps]


def _likeness(one: frozenset[str], other: frozenset[str]) -> int:
    return _FINE * len(one & other) // max(1, len(one | other))
