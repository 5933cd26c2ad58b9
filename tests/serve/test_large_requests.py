"""A request that is larger than any honest one is refused with the field, its value and why."""

from __future__ import annotations

import json
import signal
import socket
from pathlib import Path
from typing import Any

import pytest
from growth import growth
from prefect_swarm.errors import SwarmError
from prefect_swarm.serve.chat_request import ChatRequest, chat_request, read_chat_body
from prefect_swarm.serve.connection import api_error
from served_models import Served, serving

USER = {"role": "user", "content": "Hello"}


def tool(number: int) -> dict[str, Any]:
    parameters = {"type": "object", "properties": {"city": {"type": "string"}}}
    return {"type": "function", "function": {"name": f"tool_{number}", "parameters": parameters}}


def form(schema: Any) -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}


def read(**fields: Any) -> ChatRequest:
    body = {"model": "demo", "messages": [USER], **fields}
    return chat_request(read_chat_body(json.dumps(body).encode()), max_tokens=99, style="tags")


@pytest.mark.attack("load")
@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"tools": [tool(n) for n in range(20_000)]}, "tools is a list of 20,000"),
        ({"tools": [tool(0) | {"function": {"name": "x" * 10**6}}]}, "tools.0.function.name"),
        ({"messages": [USER] * 20_000}, "messages is a list of 20,000"),
        (
            {"messages": [{"role": "user", "content": [{"type": "text", "text": ""}] * 20_000}]},
            "messages.0.content",
        ),
        ({"stop": ["x"] * 100_000}, "stop is a list of 100,000"),
        ({"stop": "x" * 10**6}, "stop.0"),
        ({"max_tokens": 10**300}, "max_tokens"),
        ({"max_completion_tokens": 2**31}, "max_completion_tokens"),
        ({"top_k": 2**63}, "top_k"),
        ({"temperature": float("inf")}, "temperature"),
        ({"repeat_penalty": float("nan")}, "repeat_penalty"),
        ({"n": 10**6}, "n is 1000000"),
        ({"logit_bias": {str(n): 1 for n in range(100_000)}}, "logit_bias"),
        (
            {
                "tools": [tool(n) for n in range(900)],
                "tool_choice": {"type": "function", "function": {"name": "x" * 10**6}},
            },
            "tool_choice",
        ),
        (
            {
                "messages": [
                    USER,
                    {"role": "assistant", "tool_calls": [{"function": {"name": "a"}}] * 5_000},
                ]
            },
            "tool_calls",
        ),
        (
            {"response_format": form({"enum": [str(n) + "x" * 900 for n in range(5_000)]})},
            "characters",
        ),
        (
            {"response_format": form({"properties": {f"p{n}": {} for n in range(9_999)}})},
            "properties",
        ),
    ],
    ids=lambda value: value[:24] if isinstance(value, str) else "",
)
def test_what_is_too_large_is_a_400_of_few_words(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(SwarmError) as raised:
        read(**fields)
    error = api_error(raised.value)
    assert error.status == 400
    assert words in str(error)
    assert len(str(error)) < 1_500


@pytest.mark.parametrize(
    "fields",
    [
        {"tools": [tool(n) for n in range(128)]},
        {"response_format": form({"enum": [f"value {n}" for n in range(1_000)]})},
        {"messages": [USER] * 5_000},
        {"stop": ["x"] * 16},
    ],
    ids=["tools", "enum", "messages", "stops"],
)
def test_what_is_usual_is_taken(fields: dict[str, Any]) -> None:
    assert read(**fields).generate.messages


@pytest.mark.attack("load")
@pytest.mark.parametrize("role", ["user", "tool"])
def test_a_conversation_is_read_in_a_time_that_grows_as_it_does(role: str) -> None:
    def make(count: int) -> None:
        calls = [{"id": f"c{n}", "function": {"name": "a"}} for n in range(count // 3)]
        asked = {"role": "assistant", "tool_calls": calls}
        turn = {"role": role, "content": "x" * 200, "tool_call_id": "c1"}
        read(messages=[asked, *[turn] * count])

    assert growth(make, 600) < 9


@pytest.mark.model
@pytest.mark.attack("load")
def test_a_server_refuses_a_flood_of_tools_and_answers_others(server: Served) -> None:
    refused = server.chat("Hello", tools=[tool(n) for n in range(20_000)])
    assert refused.status_code == 400
    assert "tools is a list of 20,000" in refused.text
    assert server.chat("Hello", max_tokens=2).status_code == 200


@pytest.mark.model
@pytest.mark.attack("load")
def test_a_server_ends_with_requests_that_are_not_complete(tmp_path: Path) -> None:
    with serving(tmp_path, "--n-ctx", 512, "--n-slots", 1, "--n-threads", 1) as served:
        host, port = served.url.removeprefix("http://").split(":")
        begun = [socket.create_connection((host, int(port))) for _ in range(5)]
        for connection in begun:
            connection.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\n")
        begun[0].sendall(b"content-type: application/json\r\ncontent-length: 90000\r\n\r\n{")
        served.process.send_signal(signal.SIGTERM)
        assert served.process.wait(timeout=60) == 128 + signal.SIGTERM
        for connection in begun:
            connection.close()
