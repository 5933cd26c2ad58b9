"""An MCP server with a post office behind it: `python letter_mcp_server.py ADDRESS`.

A letter is sent once the office has it, whether or not it confirms that.
"""

from __future__ import annotations

import sys
import urllib.request
from pathlib import Path

from mcp.server.mcpserver import MCPServer

__all__ = ["SERVER"]

SERVER = Path(__file__)

server = MCPServer("letters")


def ask_office(what: str) -> str:
    with urllib.request.urlopen(f"{sys.argv[1]}/{what}", timeout=600) as answer:  # noqa: S310
        return answer.read().decode()


@server.tool()
def address() -> str:
    """Look up where the letter goes."""
    return ask_office("address")


@server.tool()
def send_letter() -> str:
    """Send the letter."""
    return ask_office("letter")


if __name__ == "__main__":
    server.run()
