"""Which steps of a plan act on something outside it, and name no call that undoes it. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from ..text import plural
from .compile import CompiledStep

__all__ = ["IrreversibleStep", "find_irreversible", "irreversible_words"]

_MOST_SHOWN = 5


class IrreversibleStep(NamedTuple):
    """A step that nothing undoes.

    Attributes:
        step: Its id, with those of the steps that it is inside of.
        tools: The tools that act and that it has, as `TOOLSET.TOOL`.
        is_call: Whether it makes that call for certain; an agent may.
    """

    step: str
    tools: tuple[str, ...]
    is_call: bool


def find_irreversible(
    steps: Sequence[CompiledStep], acting: Mapping[str, Collection[str]], within: str = ""
) -> tuple[IrreversibleStep, ...]:
    """Return the steps that act without an undo, and those inside steps, in the plan's order.

    Args:
        steps: Of one plan.
        acting: The names of the tools that act, by the name of their toolset.
        within: The id of the step that they are inside of, with a dot behind it.
    """
    return tuple(_found(steps, acting, within))


def _found(
    steps: Sequence[CompiledStep], acting: Mapping[str, Collection[str]], within: str
) -> Iterator[IrreversibleStep]:
    for step in steps:
        name = f"{within}{step.id}"
        if step.plan:
            yield from _found(step.plan, acting, f"{name}.")
        elif step.undo is None and (tools := tuple(_tools(step, acting))):
            yield IrreversibleStep(name, tools, step.call is not None)


def _tools(step: CompiledStep, acting: Mapping[str, Collection[str]]) -> Iterator[str]:
    for toolset in step.tools:
        for tool in acting.get(toolset, ()):
            if step.call is None or tool == step.call.tool:
                yield f"{toolset}.{tool}"


def irreversible_words(found: Sequence[IrreversibleStep], most: int | None = _MOST_SHOWN) -> str:
    """Say which steps nothing undoes; "" for none.

    Args:
        found: The steps.
        most: How many of them, and of the tools of each, are named; all if it is None.
    """
    if not found:
        return ""
    shown = [
        f"{each.step} ({'' if each.is_call else 'may call '}{_list(each.tools, 'tool', most)})"
        for each in found
    ]
    return f"Nothing undoes what these steps do: {_list(shown, 'step', most)}."


def _list(parts: Sequence[str], noun: str, most: int | None) -> str:
    more = len(parts) - len(parts[:most])
    return ", ".join(parts[:most]) + (f" and {plural(more, f'more {noun}')}" if more else "")
