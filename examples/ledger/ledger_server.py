"""An MCP server that keeps a ledger in the file `ledger.txt`: `python ledger_server.py`."""

from __future__ import annotations

from pathlib import Path

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

LEDGER = Path("ledger.txt")
DISPUTED = "invoice 13"

server = MCPServer("ledger")


@server.tool()
def post(account: str, amount: int, note: str) -> dict[str, str]:
    """Book an amount on an account."""
    number = f"B{len(bookings()) + 1}"
    write(f"{number} {account} {amount} {note}")
    return {"id": number}


@server.tool()
def reverse(booking: str) -> str:
    """Take a booking back."""
    write(f"{booking} is taken back")
    return f"{booking} is taken back"


@server.tool()
def pay(note: str) -> str:
    """Pay what is booked."""
    if note == DISPUTED:
        raise ToolError(f"{note} is disputed, and is not paid")
    write(f"{note} is paid")
    return f"{note} is paid"


def bookings() -> list[str]:
    """Return the lines of the ledger that are bookings."""
    lines = LEDGER.read_text("utf-8").splitlines() if LEDGER.exists() else []
    return [line for line in lines if not line.endswith((" is taken back", " is paid"))]


def write(line: str) -> None:
    """Add a line to the ledger."""
    with LEDGER.open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")


if __name__ == "__main__":
    server.run()
