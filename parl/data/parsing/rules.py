"""What a slot may ask of its variable, checked when a pattern is read. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..generating.filters import CHANGES, JOINS, LINED, PICKS
from .pattern import Variable
from .template import Alternatives, Template, TemplateError, TemplateSlot

__all__ = ["check_slots"]

_LOST_IN_TEXTS = {*CHANGES, "n", "prev"} - {"cap"}


def check_slots(
    template: Template,
    variables: Mapping[str, Variable],
    over: tuple[str, ...] | None = None,
    *,
    later: bool = False,
) -> None:
    """Check every slot of an ask or of a step.

    Args:
        over: The variables that the step runs over; None for an ask.
        later: Whether it is the prompt of a chain's later steps.

    Raises:
        TemplateError: A slot's variable, field or filter doesn't exist or doesn't fit.
    """
    for slot, inner in _slots(template, over or (), variables):
        variable = variables.get(slot.name)
        if variable is None:
            raise TemplateError(f"{{{slot.name}}} has no `with` line before it")
        if slot.field and any(slot.field not in found.fields for found in variable.lists):
            raise TemplateError(f"{{{slot.name}.{slot.field}}} is no field of all its lists")
        single = not variable.plural or variable.root in inner
        if slot.number and not (single and variable.plural):
            raise TemplateError(f"{{{slot.name}#}} belongs in a step over {slot.name}")
        if slot.body is not None and single:
            raise TemplateError(f"{{{slot.name}: …}} needs several entries")
        if slot.body is not None and (lost := _LOST_IN_TEXTS.intersection(slot.filters)):
            raise TemplateError(f"{{{slot.name}: …|{min(lost)}}}: it belongs inside the text")
        for name in slot.filters:
            if problem := _misused(name, variable, single, over is None, later):
                raise TemplateError(f"{{{slot.name}|{name}}}: {problem}")


def _slots(
    template: Template, over: tuple[str, ...], variables: Mapping[str, Variable]
) -> Iterator[tuple[TemplateSlot, tuple[str, ...]]]:
    """Yield each slot and the variables that are one entry where it stands."""
    for node in template:
        if isinstance(node, TemplateSlot):
            yield node, over
            variable = variables.get(node.name)
            if node.body is not None and variable is not None:
                yield from _slots(node.body, (*over, variable.root), variables)
        elif isinstance(node, Alternatives):
            for option in node.options:
                yield from _slots(option, over, variables)


def _misused(name: str, variable: Variable, single: bool, ask: bool, later: bool) -> str:
    if name == "prev":
        return "" if later and single and variable.plural else "it belongs in a prompt after `//`"
    if name in JOINS and single:
        return "it is one entry here, which needs no joining"
    if name in LINED and not ask:
        return "a step may not break lines"
    if name in (*PICKS, "n") and not variable.plural:
        return "it is one entry, not several"
    return "" if name in (*JOINS, *CHANGES, *PICKS, "n") else "there is no such filter"
