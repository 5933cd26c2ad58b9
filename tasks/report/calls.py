"""The calls of tools that attempts made, for pages and the terminal. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from ...result import Exploration, StepResult, ToolCall
from ...text import one_line
from .markdown import plain, table

__all__ = ["call_lines", "calls_markdown"]

_MOST_ROWS = 200
_HEADER = ("Step", "Attempt", "Call", "Outcome", "Took", "Characters", "Arguments", "Result")


def calls_markdown(steps: Sequence[StepResult], explored: Exploration | None = None) -> list[str]:
    """Write the part of a run's page on calls of tools; empty if there were none.

    Args:
        steps: The steps of the run.
        explored: What the orchestrator looked at before it planned.
    """
    rows = [_row("plan", "", call) for call in (explored.calls if explored else ())]
    rows += [
        _row(step.id, str(attempt.number), call)
        for step in steps
        for attempt in step.attempts
        for call in attempt.calls
    ]
    if not rows:
        return []
    more = f"\n\n{len(rows) - _MOST_ROWS} more." if len(rows) > _MOST_ROWS else ""
    return [f"### Calls of tools\n\n{table(_HEADER, rows[:_MOST_ROWS])}{more}"]


def call_lines(calls: Sequence[ToolCall]) -> list[str]:
    """Write a line for each call of an attempt, or of the orchestrator before it planned."""
    return [
        f"call {call.ordinal}: {call.tool}({one_line(call.arguments, 160)}) {call.outcome} "
        f"in {call.seconds:.1f} s: {one_line(call.result, 200)}"
        for call in calls
    ]


def _row(step: str, attempt: str, call: ToolCall) -> tuple[str, ...]:
    return (
        step,
        attempt,
        plain(call.tool, 60),
        call.outcome,
        f"{call.seconds:.1f} s",
        f"{call.characters:,}",
        plain(one_line(call.arguments, 100), 120),
        plain(one_line(call.result, 160), 200),
    )
