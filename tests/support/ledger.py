"""A toolset that acts: a ledger whose bookings are counted, and a plan that books."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from prefect_swarm.plan.task_ir import TaskIR, parse_plan
from prefect_swarm.toolsets.catalogue import marked
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.toolsets import FunctionToolset

__all__ = ["Ledger", "booking", "plan_of_calls"]


@dataclass
class Ledger:
    """What was booked and what was taken back, in the order of the calls."""

    calls: list[str] = field(default_factory=list[str])
    keeps: frozenset[str] = frozenset()

    def toolset(self) -> FunctionToolset[None]:
        tools = FunctionToolset[None]()

        def post(amount: int, note: str = "") -> dict[str, Any]:
            """Book an amount."""
            if amount < 0:
                raise ToolFailed("no amount is below 0")
            self.calls.append(f"post {amount} {note}".strip())
            return {"id": f"B{len(self.calls)}", "amount": amount}

        def reverse(booking: str) -> str:
            """Take a booking back."""
            if booking in self.keeps:
                raise ToolFailed(f"{booking} is closed")
            self.calls.append(f"reverse {booking}")
            return f"{booking} is taken back"

        tools.add_function(post, metadata=marked(acting=True))
        tools.add_function(reverse, metadata=marked(acting=True))
        return tools


def booking(step: str, *needs: str, undo: bool = True, **arguments: Any) -> dict[str, Any]:
    """A step that books, and says how that is taken back."""
    made: dict[str, Any] = {
        "id": step,
        "depends_on": [*needs],
        "output": {"kind": "json"},
        "call": {"toolset": "ledger", "tool": "post", "arguments": arguments},
    }
    if undo:
        taken_back = {"booking": {"$output": f"{step}/id"}}
        made["undo"] = {"toolset": "ledger", "tool": "reverse", "arguments": taken_back}
    return made


def plan_of_calls(*steps: dict[str, Any]) -> TaskIR:
    """A plan without an agent."""
    return parse_plan({"objective": "Book it", "steps": [*steps]})
