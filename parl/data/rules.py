"""What a slot may ask of its variable, checked when a pattern is read. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from .template import Slot, Template, TemplateError, slots_of

if TYPE_CHECKING:
    from .pattern import Variable

__all__ = ["EACH", "JOINS", "PICKS", "WHOLE", "check_slots"]

JOINS = ("and", "or", "vs", "commas", "slash", "semicolons", "bullets", "numbered", "lines")
"""Filters that make one text of several entries."""
EACH = ("quote", "title", "lower", "cap")
"""Filters that change an entry's text."""
PICKS = ("first", "last", "rest", "most", "prev")
"""Filters that take some entries: all but the first, all but the last, the one before."""
WHOLE = ("n",)
"""The filter that counts the entries."""
_BROKEN = ("bullets", "numbered", "lines")


def check_slots(
    template: Template,
    variables: Mapping[str, Variable],
    over: tuple[str, ...] | None,
    *,
    first: bool = True,
) -> None:
    """Check every slot of an ask (`over` is None) or of a step.

    Args:
        over: The variables that the step runs over.
        first: Whether the template is used where a chain begins.

    Raises:
        TemplateError: A slot's variable, field or filter doesn't exist or doesn't fit.
    """
    bodies = [slot for slot in slots_of(template) if slot.body is not None]
    inside = {id(inner): slot.name for slot in bodies for inner in slots_of(slot.body or ())}
    for slot in slots_of(template):
        runs = over or ()
        if id(slot) in inside:
            outer = variables.get(inside[id(slot)])
            runs = (*runs, outer.like or outer.name) if outer else runs
        _check_slot(slot, variables, runs, over is None, first)


def _check_slot(
    slot: Slot, variables: Mapping[str, Variable], over: tuple[str, ...], ask: bool, first: bool
) -> None:
    variable = variables.get(slot.name)
    if variable is None:
        raise TemplateError(f"{{{slot.name}}} has no `with` line before it")
    single = not variable.plural or (variable.like or variable.name) in over
    if slot.field and any(slot.field not in found.fields for found in variable.lists):
        raise TemplateError(f"{{{slot.name}.{slot.field}}} is no field of every list of it")
    if slot.number and not (single and variable.plural):
        raise TemplateError(f"{{{slot.name}#}} belongs in a step over {slot.name}")
    if slot.body is not None and single:
        raise TemplateError(f"{{{slot.name}: …}} needs several entries")
    for name in slot.filters:
        if name not in (*JOINS, *EACH, *PICKS, *WHOLE):
            raise TemplateError(f"there is no filter {name}")
        if name == "prev" and (first or not single):
            raise TemplateError("prev belongs in a chain's later prompt, after ` // `")
        if name in JOINS and single:
            raise TemplateError(f"{{{slot.name}|{name}}} is one entry here, which needs no joining")
        if name in (*PICKS, *WHOLE) and not variable.plural:
            raise TemplateError(f"{{{slot.name}|{name}}} needs a variable of several entries")
        if name in _BROKEN and not ask:
            raise TemplateError(f"{name} breaks lines, which a step may not")
