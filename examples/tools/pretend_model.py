"""A server that speaks OpenAI's chat API and pretends to be a model: `python pretend_model.py`.

Asked with tools, it calls `convert_time` once and says what it read; asked without, it writes a
note around what the step before has found.
"""

from __future__ import annotations

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

ADDRESS = ("127.0.0.1", 8765)
CALL = {"source_timezone": "Europe/Berlin", "time": "09:00", "target_timezone": "Asia/Tokyo"}


def message(messages: list[dict[str, Any]], tools: list[str]) -> dict[str, Any]:
    """Return what the model answers in a conversation, where it may call these tools."""
    last = messages[-1]
    if last["role"] == "tool":
        return {"role": "assistant", "content": read(last["content"])}
    if "convert_time" in tools:
        function = {"name": "convert_time", "arguments": json.dumps(CALL)}
        call = {"id": "call_1", "type": "function", "function": function}
        return {"role": "assistant", "content": None, "tool_calls": [call]}
    found = last["content"].splitlines()[1:2]
    return {"role": "assistant", "content": " ".join(["Dear caller,", *found, "Call us then."])}


def read(result: str) -> str:
    """Return a sentence on what the tool gave."""
    try:
        target = json.loads(result)["target"]
    except (ValueError, KeyError):
        return f"No time was found: {result}"
    return (
        f"it is {target['datetime'][11:16]} in {target['timezone']} when we open at {CALL['time']}."
    )


class Model(BaseHTTPRequestHandler):
    """Answers `POST /v1/chat/completions`, and `GET /v1/models`."""

    def do_GET(self) -> None:
        self._send({"object": "list", "data": [{"id": "pretend", "object": "model"}]})

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        tools = [tool["function"]["name"] for tool in asked.get("tools") or []]
        answer = message(asked["messages"], tools)
        choice = {
            "index": 0,
            "message": answer,
            "finish_reason": "tool_calls" if "tool_calls" in answer else "stop",
        }
        self._send(
            {
                "id": "1",
                "object": "chat.completion",
                "created": 0,
                "model": asked["model"],
                "choices": [choice],
                "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
            }
        )

    def _send(self, content: dict[str, Any]) -> None:
        body = json.dumps(content).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing of each request."""


if __name__ == "__main__":
    with ThreadingHTTPServer(ADDRESS, Model) as server:
        sys.stdout.write(f"openai:pretend@http://{ADDRESS[0]}:{ADDRESS[1]}/v1\n")
        sys.stdout.flush()
        server.serve_forever()
