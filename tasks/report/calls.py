"""A call of a tool in a line. Pure."""

from __future__ import annotations

from ...events.kinds import ToolEvent
from ...result import ToolCall
from ...text import one_line

__all__ = ["call_line"]

_CHARS = 300


def call_line(call: ToolCall | ToolEvent) -> str:
    """Write a call in a line: its number, its tool with the arguments, and what it came to."""
    made = f"{call.ordinal}. {call.tool}({call.arguments})"
    if call.outcome == "started":
        return one_line(made, _CHARS)
    took = f" after {call.seconds:.1f} s" if call.seconds else ""
    return one_line(f"{made} {call.outcome}{took}: {call.result}", _CHARS)
