"""How two runs differ, as a person reads it."""

from __future__ import annotations

from collections.abc import Iterator

from ...flows.compared.plans import FieldChange, PlanDifference
from ...flows.compared.runs import ComparedStep, RunDifference
from ...flows.compared.texts import TextDifference
from ...text import dollars, duration, one_line
from ..output.printing import print_section, print_table, print_text

__all__ = ["print_difference"]

_SHOWN = 300  # characters of a value


def print_difference(found: RunDifference) -> None:
    """Print plans, steps, answers and figures of two runs."""
    print_section(f"Runs {found.runs[0]} and {found.runs[1]}")
    _print_plan(found.plan)
    print_section("Steps")
    print_table(("Step", *found.runs), [_step_row(step) for step in found.steps])
    print_section("Answers")
    _print_answers(found.answer)
    print_section("Figures")
    print_table(("Figure", *found.runs), list(_figure_rows(found)))


def _print_plan(plan: PlanDifference) -> None:
    print_section("Plans")
    if plan.is_empty:
        print_text("They are the same.")
        return
    if plan.removed:
        print_text(f"removed: {', '.join(plan.removed)}")
    if plan.added:
        print_text(f"added: {', '.join(plan.added)}")
    for step in plan.changed:
        for change in step.changes:
            _print_change(f"{step.step} ", change)
    for change in plan.fields:
        _print_change("", change)
    if plan.inputs:
        print_text(f"inputs that differ: {', '.join(plan.inputs)}")


def _print_change(place: str, change: FieldChange) -> None:
    print_text(f"{place}{change.field}")
    print_text(f"  - {one_line(change.before, _SHOWN)}")
    print_text(f"  + {one_line(change.after, _SHOWN)}")


def _print_answers(answer: TextDifference | None) -> None:
    if answer is None:
        print_text("A run that has not ended has none.")
    elif answer.is_same:
        print_text("They are the same.")
    else:
        print_text("\n".join(answer.lines) or "They differ in white space alone.")
        if answer.left_out:
            print_text(f"{answer.left_out:,} more lines differ.")
        if answer.is_cut:
            print_text("What comes after their first 2,000 lines wasn't compared.")


def _step_row(step: ComparedStep) -> tuple[str, str, str]:
    return (step.step, _way(step, 0), _way(step, 1))


def _way(step: ComparedStep, side: int) -> str:
    if step.taken_from[side]:
        return f"taken over from {step.taken_from[side]}"
    if not step.statuses[side]:
        return ""
    if not step.attempts[side]:
        return step.statuses[side]
    took = f"{step.tokens[side]:,} tokens, {duration(step.seconds[side])}"
    return f"{step.statuses[side]}, {one_line(step.models[side], 40)}, {took}"


def _figure_rows(found: RunDifference) -> Iterator[tuple[str, str, str]]:
    yield ("status", *found.statuses)
    for name, (before, after) in {**found.metrics, **found.cost}.items():
        if (before, after) != (None, None):
            yield (_title(name), _figure(name, before), _figure(name, after))


def _title(name: str) -> str:
    return "cost" if name == "money_usd" else name.removesuffix("_s").replace("_", " ")


def _figure(name: str, value: float | None) -> str:
    if value is None:
        return ""
    if name == "money_usd":
        return dollars(value)
    if name.endswith("_s"):
        return duration(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:.2f}"
