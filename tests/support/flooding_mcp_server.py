"""An MCP server on standard input and output that sends more than anybody reads.

`python flooding_mcp_server.py LIST`, where LIST is one of the functions below, which is what it
lists. Its tools are `look`, with a result of 50,000 parts, and `wait`, which reports its progress
without end.
"""

from __future__ import annotations

import json
import sys
from itertools import count
from pathlib import Path
from typing import Any

__all__ = ["FLOODING_SERVER"]

FLOODING_SERVER = Path(__file__)
PARTS = 50_000


def few(_: str) -> dict[str, Any]:
    return {"tools": [tool("look"), tool("wait")]}


def many(_: str) -> dict[str, Any]:
    return {"tools": [tool(f"tool_{n}") for n in range(20_000)]}


def pages(cursor: str) -> dict[str, Any]:
    first = int(cursor or 0)
    page = [tool(f"tool_{n}") for n in range(first, first + 300)]
    return {"tools": page, "nextCursor": str(first + 300)}


def same_page(_: str) -> dict[str, Any]:
    return {"tools": [tool("look")], "nextCursor": "again"}


def empty_pages(cursor: str) -> dict[str, Any]:
    return {"tools": [], "nextCursor": str(int(cursor or 0) + 1)}


def large_schema(_: str) -> dict[str, Any]:
    return {"tools": [tool("look"), tool("large", properties={f"p{n}": {} for n in range(90_000)})]}


def references(_: str) -> dict[str, Any]:
    chain = {f"d{n}": {"$ref": f"#/$defs/d{n + 1}"} for n in range(2_000)}
    return {"tools": [tool("look", **{"$defs": {**chain, "d2000": {}}, "$ref": "#/$defs/d0"})]}


def mixed_names(_: str) -> dict[str, Any]:
    return {"tools": [tool("look"), tool("mixed", required=["a", 1] * 15_000)]}


def tool(name: str, **schema: Any) -> dict[str, Any]:
    return {"name": name, "inputSchema": {"type": "object", **schema}}


def send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def answer(method: str, params: dict[str, Any], number: int) -> dict[str, Any]:
    if method == "initialize":
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "flood", "version": "1"},
        }
    if method == "tools/list":
        return globals()[sys.argv[1]](params.get("cursor") or "")
    if method == "tools/call" and params["name"] == "wait":
        for progress in count():
            report = {"progressToken": number, "progress": progress}
            send({"method": "notifications/progress", "params": report})
    if method == "tools/call":
        return {"content": [{"type": "text", "text": "x"}] * PARTS}
    return {}


if __name__ == "__main__":
    for line in sys.stdin:
        asked = json.loads(line)
        if (asked_as := asked.get("id")) is not None:
            found = answer(asked["method"], asked.get("params") or {}, asked_as)
            send({"id": asked_as, "result": found})
