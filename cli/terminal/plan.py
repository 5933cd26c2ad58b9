"""A plan as `plan` prints it, and as a person is asked about it."""

from __future__ import annotations

from ...flows.bounds import TYPICAL_ANSWER, estimate
from ...flows.options import SwarmOptions
from ...models.names import price_of_name
from ...plan.compile import CompiledPlan
from ...text import dollars, one_line, plural
from .printing import print_section, print_table, print_text

__all__ = ["estimate_line", "print_plan"]


def print_plan(plan: CompiledPlan) -> None:
    """Print a plan as a table."""
    roots = sum(not step.upstream for step in plan.steps)
    longest = int(max(step.priority for step in plan.steps))
    print_section(one_line(plan.objective, 200))
    print_table(
        ("Step", "Agent", "Tier", "Needs", "Priority", "Prompt"),
        (
            (
                step.id,
                one_line(step.agent, 30),
                step.tier,
                one_line(", ".join([*step.upstream, *(step.inputs or ())]), 24),
                f"{step.priority:g}",
                one_line(step.prompt, 300),
            )
            for step in plan.steps
        ),
        right=frozenset({"Priority"}),
    )
    print_text(
        f"{plural(len(plan.steps), 'step')}, {roots} can start immediately, "
        f"longest path {plural(longest, 'step')}. Priority: steps from there to the end."
    )


def estimate_line(plan: CompiledPlan, options: SwarmOptions) -> str:
    """Return what a plan is likely to take, in a line."""
    found = estimate(plan, options, price_of_name)
    money = "price not known" if found.usd is None else dollars(found.usd)
    return (
        f"Estimated: about {found.tokens:,} tokens, {money}, if every step succeeds on its "
        f"first attempt and writes about {TYPICAL_ANSWER} tokens at most."
    )
