"""An MCP server on standard input and output, of the standard library alone, with faults to order.

`python raw_mcp_server.py [NOTES]`: a line goes into the file NOTES when it starts. Each tool is a
function below: it returns its result's text, or None if it has none yet. Some are there where an
environment variable asks for them: ASKING, BOOKS, CHANGING, ODD, PICTURES.
"""

from __future__ import annotations

import base64
import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = ["FLOOD_BYTES", "PICTURE", "SERVER", "TOOLS"]

SERVER = Path(__file__)
FLOOD_BYTES = 50_000_000

held: list[int] = []
most_held = 0
cancelled: list[int] = []
asked: dict[str, Any] = {}
notes: list[str] = []


def echo(number: int, text: str = "") -> str:
    """Give the text back."""
    return text


def pid(number: int) -> str:
    """Give the process id."""
    return str(os.getpid())


def variable(number: int, name: str) -> str:
    """Give an environment variable."""
    return os.environ.get(name, "")


def fail(number: int) -> None:
    """Report an error that has a variable in it."""
    text = f"no such thing, {os.environ.get('TOKEN', '')}"
    send({"id": number, "result": {"content": [{"type": "text", "text": text}], "isError": True}})


def hold(number: int, until: int = 0, announce: str = "") -> None:
    """Answer when `release` is called, or so many are held; a named pipe is told of it."""
    global most_held
    held.append(number)
    most_held = max(most_held, len(held))
    if announce:
        Path(announce).write_text("held")
    if len(held) == until:
        release(number)


def release(number: int) -> str:
    """Answer all that is held; give the most that were held at once."""
    while held:
        answer(held.pop(0), "released")
    return str(most_held)


def cancellations(number: int) -> str:
    """Give how many requests were taken back."""
    return str(len(cancelled))


def hang(number: int) -> None:
    """Never answer, and go on reading."""


def block(number: int) -> None:
    """Never answer, and read nothing any more."""
    while True:
        signal.pause()


def die(number: int) -> None:
    """End in the midst of the call."""
    sys.stderr.write(f"out of luck, {os.environ.get('TOKEN', '')}\n")
    os._exit(3)


def flood(number: int) -> str:
    """Give 50 MB."""
    return "x" * FLOOD_BYTES


def strange(number: int) -> None:
    """Write what is not a message, and then a result of the wrong form."""
    sys.stdout.write("Starting up … 100 %\n")
    send({"id": number, "result": {"content": 7}})


def chatter(number: int) -> str:
    """Write much to standard error."""
    for line in range(20_000):
        sys.stderr.write(f"line {line} {'.' * 100}\n")
    return "done"


def halves(number: int) -> str:
    """Give half a character, which JSON has an escape for."""
    return "9 \ud83d m"


def change(number: int, quietly: bool = False) -> str:
    """Put `newer` in the place of `older`, and say so."""
    del TOOLS["older"]
    TOOLS["newer"] = newer
    if not quietly:
        send({"method": "notifications/tools/list_changed"})
    return "changed"


def older(number: int) -> str:
    """Be there at first."""
    return "old"


def newer(number: int) -> str:
    """Be there later."""
    return "new"


def ask(number: int, schema: Any = None, message: str = "Who?", times: int = 1, **of: Any) -> None:
    """Ask the user, over and over, and give the last answer; a call that is taken back as well."""
    schema = schema or {"type": "object", "properties": {"name": {"type": "string"}}}
    asked[f"ask{number}.{times}"] = (number, schema, message, times, of)
    params = {"message": message, "requestedSchema": schema, **of}
    send({"id": f"ask{number}.{times}", "method": "elicitation/create", "params": params})


def answered(message: dict[str, Any]) -> None:
    number, schema, words, times, more = asked.pop(message["id"])
    notes.append(message.get("result", {}).get("action", "error"))
    if times > 1:
        ask(number, schema, words, times - 1, **more)
    else:
        answer(number, json.dumps(message.get("result", message.get("error"))))


def noted(number: int) -> str:
    """Give what came of questions and of calls, in their order."""
    return " ".join(notes)


def picture(number: int, kind: str = "image/png", size: int = 0) -> None:
    """Give a text, a picture, a sound and a resource that is a picture."""
    data = base64.b64encode(PICTURE + b"0" * size).decode()
    resource = {"uri": "file:///p.png", "mimeType": "image/png", "blob": data}
    content = [
        {"type": "text", "text": "Here it is."},
        {"type": "image", "mimeType": kind, "data": data},
        {"type": "audio", "mimeType": "audio/wav", "data": base64.b64encode(b"RIFF").decode()},
        {"type": "resource", "resource": resource},
    ]
    send({"id": number, "result": {"content": content}})


def book(number: int, line: str = "") -> str:
    """Write a line down."""
    with Path(os.environ["BOOKS"]).open("a") as books:
        books.write(f"{line}\n")
    return "booked"


def odd_picture(number: int) -> None:
    """Give a text, a picture as pages have it, and what is not a content."""
    content = [
        {"type": "text", "text": "Here it is.", "annotations": {"priority": 7}},
        {"type": "image", "data": f"data:image/png;base64,{base64.b64encode(PICTURE).decode()}"},
        {"type": "video", "data": "AAAA", "mimeType": "video/mp4"},
    ]
    send({"id": number, "result": {"content": content, "structuredContent": [1]}})


PICTURE = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
"""A PNG of one pixel."""
TEXT = {"type": "string"}
ODD: list[Any] = [
    {"name": "no_schema"},
    {"name": "text_schema", "inputSchema": "object"},
    {"name": "nested", "inputSchema": {"properties": {"a": TEXT, "required": ["a"]}}},
    {"name": "dangling", "inputSchema": {"properties": {"a": {"$ref": "#/$defs/gone"}}}},
    {"name": "", "inputSchema": {}},
    "nonsense",
    {"name": "echo", "inputSchema": {"type": "object"}},
    {"name": "loose", "inputSchema": {"anyOf": [{"properties": {"a": TEXT}}]}, "outputSchema": 7},
]

TOOLS: dict[str, Callable[..., str | None]] = {
    tool.__name__: tool
    for tool in (
        echo, pid, variable, fail, hold, release, cancellations, hang, block, die, flood, strange,
        chatter, halves,
    )
}  # fmt: skip


if "CHANGING" in os.environ:
    TOOLS.update({"change": change, "older": older})
if "ASKING" in os.environ:
    TOOLS.update({"ask": ask, "noted": noted})
if "BOOKS" in os.environ:
    TOOLS.update({"book": book})
if "PICTURES" in os.environ:
    TOOLS.update({"picture": picture, "odd_picture": odd_picture})


def send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def answer(number: int, text: str) -> None:
    send({"id": number, "result": {"content": [{"type": "text", "text": text}]}})


def listed(name: str, tool: Callable[..., str | None]) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "name": name,
        "description": tool.__doc__,
        "inputSchema": {"type": "object"},
    }
    return entry | {"annotations": {"readOnlyHint": True}} if name == "pid" else entry


def take(message: dict[str, Any]) -> None:
    method, number, given = message.get("method"), message.get("id", 0), message.get("params") or {}
    match method:
        case "initialize":
            server = {"name": "raw", "version": "1"}
            result = {"protocolVersion": given["protocolVersion"], "capabilities": {"tools": {}}}
            send({"id": number, "result": {**result, "serverInfo": server}})
        case "tools/list":
            tools = [listed(name, tool) for name, tool in TOOLS.items()]
            tools += ODD if "ODD" in os.environ else []
            send({"id": number, "result": {"tools": tools, "nextCursor": ""}})
        case "tools/call":
            text = TOOLS[given["name"]](number, **given.get("arguments") or {})
            if text is not None:
                answer(number, text)
        case "notifications/cancelled":
            cancelled.append(given["requestId"])
            notes.append("cancelled")
        case None if message.get("id") in asked:
            answered(message)
        case _ if "id" in message:
            send({"id": number, "error": {"code": -32601, "message": f"no {method}"}})
        case _:
            pass


def main() -> None:
    if len(sys.argv) > 1:
        with Path(sys.argv[1]).open("a") as notes:
            notes.write(f"{os.getpid()}\n")
    for line in sys.stdin:
        take(json.loads(line))


if __name__ == "__main__":
    main()
