"""A plan as `plan` prints it, and as a person is asked about it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from ...plan.bounds import Range, Size, total
from ...plan.compile import CompiledPlan, CompiledStep
from ...plan.program_words import program_words
from ...plan.task_ir import TaskIR
from ...store.accounts import Amount, Budget
from ...text import dollars, one_line, plural
from .printing import print_section, print_table, print_text

if TYPE_CHECKING:
    from ...flows.estimate import Estimate
    from ...flows.options import SwarmOptions

__all__ = ["estimate_lines", "print_plan"]


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


def estimate_lines(task_ir: TaskIR, plan: CompiledPlan, options: SwarmOptions) -> Iterator[str]:
    """Say what a plan comes to, at least and at most, and whether a run could afford that.

    Args:
        task_ir: The plan, with its inputs.
        plan: The same, compiled.
        options: Those of a run of it.
    """
    from ...flows.estimate import (
        TYPICAL_ANSWER,
        estimate,
        is_varied,
        least_of_plan,
        shortage,
        sizes_of,
    )
    from ...models.names import price_of_name

    sizes = sizes_of(task_ir, options)
    least, most = estimate(plan, sizes, options, price_of_name)
    if is_varied(plan):
        yield _extent_line(sizes)
        yield (
            f"Estimated: from about {_amount(least)}, up to {_amount(most)}, if an answer has "
            f"about {TYPICAL_ANSWER} tokens at most."
        )
    else:
        yield (
            f"Estimated: about {_amount(least)}, if every step succeeds on its first attempt and "
            f"writes about {TYPICAL_ANSWER} tokens at most."
        )
    needed = least_of_plan(plan, sizes, options, price_of_name)
    budget = Budget(options.max_tokens, options.max_usd)
    if problem := shortage(budget, Amount(), needed):
        yield f"A run with these bounds is refused: it would {problem}."


def _amount(found: Estimate) -> str:
    money = "price not known" if found.usd is None else dollars(found.usd)
    return f"{found.tokens:,} tokens, {money}"


def _extent_line(sizes: Mapping[str, Size]) -> str:
    whole = total({name: size.extent for name, size in sizes.items()})
    varied = [
        f"{name} {_span(size.extent.instances)}" for name, size in sizes.items() if size.is_many
    ]
    more = f" and {len(varied) - _VARIED:,} more" if len(varied) > _VARIED else ""
    of = f" ({', '.join(varied[:_VARIED])}{more})" if varied else ""
    return (
        f"Steps that are done: {_span(whole.instances)}{of}; requests to models: "
        f"{_span(whole.requests)}."
    )


_VARIED = 8


def _span(count: Range) -> str:
    if count.least == count.most:
        return f"{count.most:,}"
    return f"from {count.least:,} up to {count.most:,}"
