"""Check a pattern's slots: their variables, fields and filters. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..generating.filters import CHANGES, JOINS, LINE_JOINS, PICKS
from .pattern import Variable
from .template import Alternatives, Template, TemplateError, TemplateSlot

__all__ = ["check_slots"]

_NOT_FOR_BODIES = {*CHANGES, "n", "prev"} - {"cap"}


def check_slots(
    template: Template,
    variables: Mapping[str, Variable],
    loop_variables: tuple[str, ...] | None = None,
    *,
    later: bool = False,
) -> None:
    """Check every slot of an ask or of a step.

    Args:
        loop_variables: The variables that the step is repeated for; None for an ask.
        later: Whether the template is the prompt of a chain's later steps.

    Raises:
        TemplateError: A slot's variable, field or filter doesn't exist or doesn't fit.
    """
    for slot, inner in _iterate_slots(template, loop_variables or (), variables):
        variable = variables.get(slot.name)
        if variable is None:
            raise TemplateError(f"{{{slot.name}}} has no `with` line before it")
        if slot.field and any(slot.field not in found.fields for found in variable.lists):
            raise TemplateError(f"{{{slot.name}.{slot.field}}} is not a field of all its lists")
        is_single = not variable.is_plural or variable.root in inner
        if slot.number and not (is_single and variable.is_plural):
            raise TemplateError(f"{{{slot.name}#}} belongs in a step over {slot.name}")
        if slot.body is not None and is_single:
            raise TemplateError(f"{{{slot.name}: …}} needs several entries")
        if slot.body is not None and (misplaced := _NOT_FOR_BODIES.intersection(slot.filters)):
            raise TemplateError(f"{{{slot.name}: …|{min(misplaced)}}}: it belongs inside the text")
        for name in slot.filters:
            if problem := _filter_problem(name, variable, is_single, loop_variables is None, later):
                raise TemplateError(f"{{{slot.name}|{name}}}: {problem}")


def _iterate_slots(
    template: Template, loop_variables: tuple[str, ...], variables: Mapping[str, Variable]
) -> Iterator[tuple[TemplateSlot, tuple[str, ...]]]:
    """Yield each slot and the variables that are a single entry there."""
    for node in template:
        if isinstance(node, TemplateSlot):
            yield node, loop_variables
            variable = variables.get(node.name)
            if node.body is not None and variable is not None:
                yield from _iterate_slots(node.body, (*loop_variables, variable.root), variables)
        elif isinstance(node, Alternatives):
            for option in node.options:
                yield from _iterate_slots(option, loop_variables, variables)


def _filter_problem(
    name: str, variable: Variable, is_single: bool, in_ask: bool, later: bool
) -> str:
    if name == "prev":
        return (
            ""
            if later and is_single and variable.is_plural
            else "it belongs in a prompt after `//`"
        )
    if name in JOINS and is_single:
        return "it is a single entry here, which needs no joining"
    if name in LINE_JOINS and not in_ask:
        return "a step may not break lines"
    if name in (*PICKS, "n") and not variable.is_plural:
        return "it is a single entry, not several"
    return "" if name in (*JOINS, *CHANGES, *PICKS, "n") else "there is no such filter"
