"""The calls of tools that attempts made, a line each. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from ...result import ToolCall
from ...text import one_line

__all__ = ["call_lines"]


def call_lines(calls: Sequence[ToolCall]) -> list[str]:
    """Write a line for each call of an attempt, or of the orchestrator before it planned."""
    return [
        f"call {call.ordinal}: {call.tool}({one_line(call.arguments, 160)}) {call.outcome} "
        f"in {call.seconds:.1f} s: {one_line(call.result, 200)}"
        for call in calls
    ]
