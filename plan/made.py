"""What the steps and members of a plan make: the kind of each output, or a table. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal

from .collect import COLLECTED_KINDS
from .ids import parse_id
from .output import SUFFIXES, OutputKind
from .step import Step, final_step

__all__ = ["MADE_SUFFIXES", "Made", "is_instance", "made_by"]

Made = OutputKind | Literal["table"]
MADE_SUFFIXES: Mapping[Made, str] = {**SUFFIXES, "table": ".csv"}


def is_instance(step: str) -> bool:
    """Say whether an id is that of an instance, S2[7], and not of a round or a step within one.

    Raises:
        ValueError: It isn't an id.
    """
    level = parse_id(step)[-1]
    return bool(level.items) and not level.round


def made_by(steps: Sequence[Step], name: str, lists: Collection[str]) -> Made:
    """Return what a step or a member makes.

    Args:
        steps: The steps of the plan.
        name: The id.
        lists: Ids of what has instances.
    """
    *around, level = parse_id(name)
    for each in around:
        inner = _named(steps, each.step)
        steps = inner.plan.steps if inner is not None and inner.plan is not None else ()
    step = _named(steps, level.step)
    if step is None:
        return "text"
    made: Made = step.output.kind
    if step.collect is not None:
        made = "table" if step.collect == "table" else COLLECTED_KINDS[step.collect]
    elif step.plan is not None:
        last = step.plan.final_step or final_step(step.plan.steps)
        made = made_by(step.plan.steps, last, ()) if last is not None else "text"
    if step.repeat is not None and step.repeat.until == "no_new_items" and not level.round:
        made = "json"
    if name in lists or (step.for_each is not None and not level.items):
        # Outputs of instances are joined to a list where they are JSON, and to a text where not.
        return "json" if made == "json" else "text"
    return made


def _named(steps: Iterable[Step], name: str) -> Step | None:
    return next((step for step in steps if step.id == name), None)
