"""The calls of tools that a run's attempts made, for its pages. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from ....result import Exploration, StepResult, ToolCall
from ....text import one_line
from ..page import Block, Paragraph, Section, Strong, Text
from .bounded import bounded_table, quoted
from .links import ref

__all__ = ["call_blocks", "calls_sections"]

_COLUMNS = ("Outcome", "Step", "Attempt", "Call", "Took", "Characters", "Arguments", "Result")
_MOST_CALLS = 40
_TEXT_CHARS = 1_200


def calls_sections(
    steps: Sequence[StepResult], explored: Exploration | None = None
) -> list[Section]:
    """Write the part of a run's page on calls of tools; empty if there were none.

    Args:
        steps: The steps of the run.
        explored: What the orchestrator looked at before it planned.
    """
    rows = [_row("plan", "", call) for call in (explored.calls if explored else ())]
    rows += [
        _row(ref(step.id), str(attempt.number), call)
        for step in steps
        for attempt in step.attempts
        for call in attempt.calls
    ]
    return [Section("Calls of tools", [bounded_table(_COLUMNS, rows)])] if rows else []


def call_blocks(calls: Sequence[ToolCall]) -> list[Block]:
    """Write an attempt's calls with their arguments and results, which are cut and masked."""
    blocks: list[Block] = []
    for call in calls[:_MOST_CALLS]:
        took = f" {call.outcome} in {call.seconds:.1f} s, {call.characters:,} characters"
        blocks.append(Paragraph((Strong(f"Call {call.ordinal}: {call.tool}"), took)))
        blocks.append(quoted(call.arguments, _TEXT_CHARS, "json"))
        if call.result:
            blocks.append(quoted(call.result, _TEXT_CHARS, whole=call.characters))
    more = len(calls) - _MOST_CALLS
    return [*blocks, Paragraph((f"{more} more calls.",))] if more > 0 else blocks


def _row(step: Text, attempt: str, call: ToolCall) -> tuple[Text, ...]:
    return (
        call.outcome,
        step,
        attempt,
        call.tool,
        f"{call.seconds:.1f} s",
        f"{call.characters:,}",
        one_line(call.arguments, 100),
        one_line(call.result, 160),
    )
