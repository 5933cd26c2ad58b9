"""Which of several plans of one objective is taken. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ....task_ir import TaskIR
from .score import PlanScore

__all__ = [
    "AGREED",
    "Choice",
    "Graph",
    "PlanCandidate",
    "best_index",
    "describe_selection",
    "graph",
    "select_plan",
]

Graph = tuple[tuple[str, ...], ...]
"""What each step of a plan needs, in the order of steps."""

AGREED = 0.5
"""What it adds to a plan's score, with an adapter, if all plans have its graph.

By measurement: `benches/planning/choice.py`.
"""


@dataclass(frozen=True)
class PlanCandidate:
    """One plan that was written.

    Attributes:
        text: What the model wrote, cut to 2,000 characters.
        plan: The plan, or None where it could not be read.
        score: The plan's score.
        repairs: What was changed in the plan after it was read, a clause each.
        error: Why it could not be read.
    """

    text: str
    plan: TaskIR | None = None
    score: PlanScore | None = None
    repairs: tuple[str, ...] = ()
    error: str = ""


@dataclass(frozen=True)
class Choice:
    """The plan that is taken.

    Attributes:
        repairs: What was changed in the plan after the model wrote it, a clause each.
        alike: How many of those written have its graph, itself included.
    """

    plan: TaskIR
    score: PlanScore
    repairs: tuple[str, ...]
    alike: int


def select_plan(candidates: Sequence[PlanCandidate], agreed: float = 0.0) -> Choice | None:
    """Return the plan with the most of score + `agreed` · share of plans that have its graph.

    A model that writes the same graph again and again, less greedily each time, is mostly right
    about it: self-consistency (Wang et al., 2023, arXiv:2203.11171).

    Returns:
        The choice; None where no plan can be read.
    """
    found = [
        (candidate.plan, candidate.score, candidate.repairs)
        for candidate in candidates
        if candidate.plan is not None and candidate.score is not None
    ]
    if not found:
        return None
    graphs = [graph(plan) for plan, _, _ in found]
    scores = [score.value for _, score, _ in found]
    place = best_index(scores, graphs, agreed / len(candidates))
    return Choice(*found[place], graphs.count(graphs[place]))


def best_index(scores: Sequence[float], graphs: Sequence[Graph], vote: float) -> int:
    """Return the place of the most of score + `vote` for each plan of the same graph.

    Of plans that have as much, the one with the fewest steps is taken, then the one written first.
    """
    alike = Counter(graphs)

    def worth(place: int) -> tuple[float, int]:
        return scores[place] + vote * alike[graphs[place]], -len(graphs[place])

    return max(range(len(graphs)), key=worth)


def describe_selection(candidates: Sequence[PlanCandidate], alike: int) -> str:
    """Say in a line what a plan was chosen from; `alike` is the choice's."""
    if len(candidates) == 1:
        return "first plan"
    scores = (f"{each.score.value:.2f}" if each.score else "unreadable" for each in candidates)
    return f"best of {', '.join(scores)}; {alike} of {len(candidates)} have its graph"


def graph(plan: TaskIR) -> Graph:
    """Return what each step needs, in the order of steps, without a word of what they say."""
    return tuple(step.depends_on for step in plan.steps)
