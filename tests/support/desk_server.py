"""An MCP server that sends letters: `python desk_server.py FOLDER PID MOMENT`.

What was sent and taken back is in files of the folder. The process PID, whose run has the calls
made, is killed at the moment `server sending 2` or `server sent 2`, if MOMENT names it.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

FOLDER, PID, MOMENT = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
server = MCPServer("desk")


@server.tool()
def send(letter: int) -> str:
    """Send a letter."""
    return _done("sending", "sent", letter)


@server.tool()
def take_back(letter: int) -> str:
    """Take a letter back."""
    return _done("taking back", "taken_back", letter)


@server.tool()
def refuse() -> str:
    """Fail."""
    raise ToolError("the desk is closed")


def _done(doing: str, done: str, letter: int) -> str:
    _at(f"server {doing} {letter}")
    _append(done, str(letter))
    _at(f"server {done} {letter}")
    return f"{done} {letter}"


def _at(moment: str) -> None:
    if moment == MOMENT:
        _append("moments", moment)
        os.kill(PID, signal.SIGKILL)


def _append(name: str, line: str) -> None:
    with (FOLDER / name).open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")


if __name__ == "__main__":
    server.run()
