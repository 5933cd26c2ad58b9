"""Which of several plans of one objective is taken. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ..task_ir import TaskIR
from .plan_score import PlanScore

__all__ = ["AGREED", "Candidate", "Choice", "chosen", "graph", "told"]

AGREED = 0.5
"""What it adds to a plan's score, with an adapter, if all plans have its graph.

By measurement: `benches/planning/choice.py`.
"""


@dataclass(frozen=True)
class Candidate:
    """One plan that was written.

    Attributes:
        text: What the model wrote, cut to 2,000 characters.
        plan: The plan, or None where it could not be read.
        score: The plan's score.
        mended: What was done to the plan after it was read, a clause each.
        error: Why it could not be read.
    """

    text: str
    plan: TaskIR | None = None
    score: PlanScore | None = None
    mended: tuple[str, ...] = ()
    error: str = ""


@dataclass(frozen=True)
class Choice:
    """The plan that is taken, and how many of those written have its graph, itself included."""

    plan: TaskIR
    score: PlanScore
    mended: tuple[str, ...]
    alike: int


def chosen(candidates: Sequence[Candidate], agreed: float = 0.0) -> Choice | None:
    """Return the plan with the most of score + `agreed` · share of plans that have its graph.

    A model that writes the same graph again and again, less greedily each time, is mostly right
    about it: self-consistency (Wang et al., 2023, arXiv:2203.11171). Of plans that have as much,
    the one with the fewest steps is taken, then the one written first.

    Returns:
        The choice; None where no plan can be read.
    """
    found = [
        (one.plan, one.score, one.mended)
        for one in candidates
        if one.plan is not None and one.score is not None
    ]
    alike = Counter(graph(plan) for plan, _, _ in found)

    def worth(one: tuple[TaskIR, PlanScore, tuple[str, ...]]) -> tuple[float, int]:
        plan, score, _ = one
        return score.value + agreed * alike[graph(plan)] / len(candidates), -len(plan.steps)

    if not found:
        return None
    plan, score, mended = max(found, key=worth)
    return Choice(plan, score, mended, alike[graph(plan)])


def told(candidates: Sequence[Candidate], alike: int) -> str:
    """Say in a line what a plan was chosen from; `alike` is the choice's."""
    if len(candidates) == 1:
        return "first plan"
    scores = (f"{one.score.value:.2f}" if one.score else "unreadable" for one in candidates)
    return f"best of {', '.join(scores)}; {alike} of {len(candidates)} have its graph"


def graph(plan: TaskIR) -> tuple[tuple[str, ...], ...]:
    """Return what each step needs, in the order of steps, without a word of what they say."""
    return tuple(step.depends_on for step in plan.steps)
