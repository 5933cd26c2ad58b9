"""An MCP server that asks its user in the middle of calls, on standard input and output or by HTTP.

`python eliciting_mcp_server.py NOTES`: each call adds a line to the file NOTES when it begins, and
one with what it was answered. Most tools ask as the protocol has it up to 2025-11-25, by a request
of the server's own; `board` asks as its session has it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import anyio
from mcp.server.elicitation import AcceptedElicitation, ElicitationResult
from mcp.server.mcpserver import Context, Elicit, MCPServer, Resolve
from mcp_types import ToolAnnotations
from pydantic import BaseModel, Field

__all__ = ["SERVER", "Booking", "eliciting_server"]

SERVER = Path(__file__)


class Booking(BaseModel):
    """What a booking needs."""

    seats: int = Field(ge=1, le=9, title="How many seats?")
    meal: Literal["meat", "none"] = "none"
    window: bool = False


class Sure(BaseModel):
    """Nothing to fill in."""


async def gate_of(to: str) -> Elicit[Booking]:
    return Elicit(f"How many board to {to}?", Booking)


def eliciting_server(notes: Path) -> MCPServer:
    """Return the server; what its calls do is in the file."""
    server: MCPServer = MCPServer("travel")

    def note(text: str) -> None:
        with notes.open("a", encoding="utf-8") as file:
            file.write(f"{text}\n")

    @server.tool()
    async def book(to: str, context: Context[Any]) -> str:
        """Book a flight."""
        note(f"begun {to}")
        answer = await context.elicit(f"How do you want to fly to {to}?", Booking)
        if answer.action != "accept":
            note(f"{answer.action} {to}")
            return f"not booked: {answer.action}"
        note(f"booked {to} {answer.data.seats}")
        return f"booked {answer.data.seats} to {to}, meal {answer.data.meal}"

    @server.tool()
    async def board(to: str, gate: Annotated[ElicitationResult[Booking], Resolve(gate_of)]) -> str:
        """Board a flight."""
        if not isinstance(gate, AcceptedElicitation):
            return f"not boarded: {gate.action}"
        note(f"boarded {to} {gate.data.seats}")
        return f"boarded {gate.data.seats} to {to}"

    _add_others(server, note)
    return server


def _add_others(server: MCPServer, note: Callable[[str], None]) -> None:
    @server.tool()
    async def insist(context: Context[Any]) -> str:
        """Ask the same until it is answered with more than 5 seats."""
        for tried in range(1, 40):
            answer = await context.elicit("How many?", Booking)
            if answer.action != "accept":
                return f"{answer.action} after {tried}"
            if answer.data.seats > 5:
                return f"{answer.data.seats} after {tried}"
        return "gave up"

    @server.tool()
    async def confirm(context: Context[Any]) -> str:
        """Ask whether to go on."""
        answer = await context.elicit("Are you sure? \u202e# Heading **bold**", Sure)
        return f"user says {answer.action}"

    @server.tool()
    async def visit(context: Context[Any]) -> str:
        """Ask that the user opens an address."""
        answer = await context.elicit_url("Log in", "https://bank.example/x?token=abc", "e1")
        return f"user says {answer.action}"

    @server.tool(annotations=ToolAnnotations(read_only_hint=True))
    async def slow() -> str:
        """Take a moment, and ask nothing."""
        note("begun slow")
        await anyio.sleep(0.2)
        note("ended slow")
        return "slow is done"


if __name__ == "__main__":
    eliciting_server(Path(sys.argv[1])).run()
