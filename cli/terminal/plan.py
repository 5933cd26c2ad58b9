"""A plan as `plan` prints it, and as a person is asked about it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from ...plan.bounds import Range, extents, total
from ...plan.compile import CompiledPlan, CompiledStep
from ...plan.items import count_items
from ...plan.program_words import program_words
from ...plan.task_ir import TaskIR
from ...text import dollars, one_line, plural
from .printing import print_section, print_table, print_text

if TYPE_CHECKING:
    from ...flows.options import SwarmOptions

__all__ = ["estimate_line", "extent_lines", "print_plan"]


def print_plan(plan: CompiledPlan) -> None:
    """Print a plan as a table; steps of plans inside steps stand below theirs."""
    roots = sum(not step.needs for step in plan.steps)
    longest = int(max(step.priority for step in plan.steps))
    print_section(one_line(plan.objective, 200))
    print_table(
        ("Step", "Agent", "Tier", "Needs", "Priority", "Prompt"),
        (
            (
                name,
                one_line(step.agent, 30),
                step.tier if step.agent else "",
                one_line(", ".join([*step.needs, *(step.inputs or ())]), 24),
                f"{step.priority:g}" if name == step.id else "",
                one_line(step.prompt or "; ".join(program_words(step)), 300),
            )
            for name, step in _all_steps(plan.steps)
        ),
        right=frozenset({"Priority"}),
    )
    for name, step in _all_steps(plan.steps):
        if (words := program_words(step)) and step.prompt:
            print_text(f"{name}: {'; '.join(words)}")
    print_text(
        f"{plural(len(plan.steps), 'step')}, {roots} can start immediately, "
        f"longest path {plural(longest, 'step')}. Priority: steps from there to the end."
    )


def _all_steps(
    steps: Iterable[CompiledStep], prefix: str = ""
) -> Iterator[tuple[str, CompiledStep]]:
    for step in steps:
        yield prefix + step.id, step
        yield from _all_steps(step.plan, f"{prefix}{step.id}.")


def extent_lines(plan: TaskIR, max_attempts: int) -> list[str]:
    """Say what a plan comes to, at least and at most; nothing if each step is done once.

    Args:
        plan: The plan, with its inputs.
        max_attempts: Attempts that a step may take where the plan doesn't say.
    """
    found = extents(plan, max_attempts, partial(count_items, plan.inputs))
    whole = total(found)
    if whole.instances.least == whole.instances.most == len(plan.steps):
        return []
    varied = [
        f"{name} {_span(each.instances)}" for name, each in found.items() if each.instances.most > 1
    ]
    more = f" and {len(varied) - _VARIED:,} more" if len(varied) > _VARIED else ""
    of = f" ({', '.join(varied[:_VARIED])}{more})" if varied else ""
    return [
        f"Steps that are done: {_span(whole.instances)}{of}; requests to models: "
        f"{_span(whole.requests)}."
    ]


_VARIED = 8


def _span(count: Range) -> str:
    if count.least == count.most:
        return f"{count.most:,}"
    return f"from {count.least:,} up to {count.most:,}"


def estimate_line(plan: CompiledPlan, options: SwarmOptions) -> str:
    """Return what a plan is likely to take, in a line."""
    from ...flows.bounds import TYPICAL_ANSWER, estimate
    from ...models.names import price_of_name

    found = estimate(plan, options, price_of_name)
    money = "price not known" if found.usd is None else dollars(found.usd)
    return (
        f"Estimated: about {found.tokens:,} tokens, {money}, if every step succeeds on its "
        f"first attempt and writes about {TYPICAL_ANSWER} tokens at most."
    )
