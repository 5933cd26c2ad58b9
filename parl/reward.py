"""What a plan is worth that a model wrote to learn from it. Pure."""

from __future__ import annotations

from ..errors import PlanError
from ..task_ir import TaskIR
from ..tasks.planner.local.line_format import read_lines
from ..tasks.planner.local.repair.pipeline import repair_plan
from .agreement import agreement

__all__ = ["GRAPH", "reward"]

GRAPH = 0.4
"""What the wanted graph is worth; no plan of another is worth more."""

_WORDS, _WHOLE = 0.4, 0.2


def reward(text: str, objective: str, wanted: TaskIR) -> float:
    """Return 0..1: 0.4 for the wanted graph, 0.4 · F1 of words, 0.2 for all words in that graph.

    A plan is repaired first, as it is where it is served: what a repair corrects needn't be learnt.
    Words count both ways, or a step that repeats the whole objective would have them all.

    Args:
        text: Numbered lines; what can't be read is worth nothing.
    """
    try:
        plan = repair_plan(read_lines(text, objective)).plan
    except PlanError:
        return 0.0
    found = agreement(plan, wanted)
    whole = found.exact and found.faithful == 1
    return GRAPH * found.exact + _WORDS * found.words + _WHOLE * whole
