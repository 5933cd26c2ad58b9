"""An MCP server whose tool takes a minute: `python letters.py OFFICE`.

The file OFFICE stands for a post office. A letter is sent once it is a line of it; the receipt
comes later.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from mcp.server.mcpserver import MCPServer

server = MCPServer("letters")
office = Path(sys.argv[1])


@server.tool()
def send_letter(to: str) -> str:
    """Send a letter, and wait for the receipt."""
    with office.open("a", encoding="utf-8") as file:
        file.write(f"a letter to {to}\n")
    time.sleep(60)
    return f"receipt: a letter to {to}"


if __name__ == "__main__":
    server.run()
