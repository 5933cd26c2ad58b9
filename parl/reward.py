"""The reward of a plan that a model generated to learn from. Pure."""

from __future__ import annotations

from ..errors import PlanError
from ..task_ir import TaskIR
from ..tasks.planner.adapter.line_format import read_lines
from ..tasks.planner.adapter.repair import repair_plan
from .agreement import agreement

__all__ = ["GRAPH_REWARD", "reward"]

GRAPH_REWARD = 0.4
"""Reward for the wanted graph; a plan with another graph never gets more."""

_WORD_REWARD, _FAITHFUL_REWARD = 0.4, 0.2


def reward(text: str, objective: str, wanted: TaskIR) -> float:
    """Return 0..1: 0.4 for the wanted graph, 0.4 · F1 of words, 0.2 for all words in that graph.

    The plan is repaired first, as in production: the model needn't learn what a repair corrects.
    Words count by F1, or a step that repeats the whole objective would have them all.

    Args:
        text: Numbered lines; a text that can't be read has reward 0.
    """
    try:
        plan = repair_plan(read_lines(text, objective)).plan
    except PlanError:
        return 0.0
    found = agreement(plan, wanted)
    has_all_words = found.exact and found.faithful == 1
    word_reward = _WORD_REWARD * found.word_f1
    return GRAPH_REWARD * found.exact + word_reward + _FAITHFUL_REWARD * has_all_words
