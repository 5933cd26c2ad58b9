"""A chain written with arrows: `clean → sort → print`. Pure."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

from .....task_ir import Step
from ..vocabulary import words

__all__ = ["split_arrow_chains"]

_ARROW = re.compile(r"\s*(?:→|->|=>)\s*")
_SEVERAL = re.compile(r"[,;:&+\n]|\.\s|\b(?:and|both|each|every|versions)\b", re.IGNORECASE)


def split_arrow_chains(steps: Sequence[Step], objective: str) -> tuple[list[Step], list[str]]:
    """Let each step need the one before, where arrows separate as many stages as there are steps.

    Nothing is changed where a stage may be several steps, a step reads several others or shares no
    word with the stage in its place.

    Args:
        steps: In their order.

    Returns:
        The steps, and a clause for what was changed.
    """
    stages = _ARROW.split(objective.strip())
    chain = [*steps[:1]]
    for before, step in itertools.pairwise(steps):
        chain.append(step.model_copy(update={"depends_on": (before.id,)}))
    is_chain = 2 < len(stages) == len(steps) and not _SEVERAL.search(objective)
    joins = any(len(step.depends_on) > 1 for step in steps)
    if not is_chain or joins or not all(map(_is_of, steps, stages)) or chain == [*steps]:
        return [*steps], []
    return chain, ["each step needs the one before: the objective has arrows between them"]


def _is_of(step: Step, stage: str) -> bool:
    return not words(step.prompt).isdisjoint(words(stage))
