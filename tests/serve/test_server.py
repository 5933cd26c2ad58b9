"""A served model answers OpenAI's clients, and its end is an end for all of them."""

from __future__ import annotations

import json
import signal
import socket
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from served_models import Served, events_of, serving

pytestmark = pytest.mark.model

DISCONNECTED = 'requests_total{outcome="disconnected"}'
WEATHER = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "The weather of a city.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"enum": ["Rome", "Paris"]}},
            "required": ["city"],
        },
    },
}


def choice(response: httpx.Response) -> Any:
    assert response.status_code == 200, response.text
    return response.json()["choices"][0]


def test_an_answer_has_text_reason_and_tokens(server: Served) -> None:
    found = server.chat("What do bees do?", max_tokens=5).json()
    assert found["choices"][0]["finish_reason"] == "length"
    assert found["choices"][0]["message"]["content"]
    assert found["usage"]["completion_tokens"] == 5


def test_a_stream_has_the_same_answer(server: Served) -> None:
    whole = choice(server.chat("What do bees do?"))["message"]["content"]
    body = server.body("What do bees do?", stream=True, stream_options={"include_usage": True})
    with httpx.stream("POST", f"{server.url}/v1/chat/completions", json=body) as response:
        *chunks, last, done = events_of(response.iter_lines())
    assert done == "[DONE]"
    assert last["usage"]["completion_tokens"] == 16
    assert "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in chunks) == whole
    assert chunks[-1]["choices"][0]["finish_reason"] == "length"


def test_openais_own_client_is_served(server: Served) -> None:
    client = openai.OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0)
    assert [model.id for model in client.models.list()] == ["SmolLM2-135M-Instruct.Q4_1"]
    answer = client.chat.completions.create(
        model="demo", messages=[{"role": "user", "content": "Hello"}], max_tokens=4
    )
    assert answer.usage
    assert answer.usage.completion_tokens == 4
    with pytest.raises(openai.NotFoundError, match="is not served here"):
        client.models.retrieve("other")


def test_a_required_tool_is_called(server: Served) -> None:
    found = choice(
        server.chat("Weather in Rome?", tools=[WEATHER], tool_choice="required", max_tokens=60)
    )
    (call,) = found["message"]["tool_calls"]
    assert found["finish_reason"] == "tool_calls"
    assert call["function"]["name"] == "weather"
    assert json.loads(call["function"]["arguments"])["city"] in ("Rome", "Paris")


def test_with_tools_an_answer_of_a_form_is_that_or_a_call(server: Served) -> None:
    form = {"type": "json_schema", "json_schema": {"schema": {"const": {"sum": 3}}}}
    asked = server.chat("1 + 2?", tools=[WEATHER], response_format=form, max_tokens=60)
    message = choice(asked)["message"]
    calls = [call["function"]["arguments"] for call in message.get("tool_calls", ())]
    for text in calls or [message["content"]]:
        assert json.loads(text).keys() <= {"sum", "city"}


def test_a_named_tool_is_called_in_a_stream_and_no_text_comes(server: Served) -> None:
    named = {"type": "function", "function": {"name": "weather"}}
    body = server.body("Rome?", tools=[WEATHER], tool_choice=named, max_tokens=60, stream=True)
    with httpx.stream("POST", f"{server.url}/v1/chat/completions", json=body) as response:
        *chunks, _ = events_of(response.iter_lines())
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks]
    assert not any(delta.get("content") for delta in deltas)
    (calls,) = [delta["tool_calls"] for delta in deltas if "tool_calls" in delta]
    assert calls[0]["function"]["name"] == "weather"


def test_a_schema_holds_the_answer(server: Served) -> None:
    schema = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
    form = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
    found = choice(server.chat("Is it?", response_format=form, max_tokens=40))
    assert isinstance(json.loads(found["message"]["content"])["ok"], bool)


def test_a_stop_string_ends_the_answer(server: Served) -> None:
    whole = choice(server.chat("What do bees do?"))["message"]["content"]
    word = whole.split()[2]
    found = choice(server.chat("What do bees do?", stop=word))
    assert found["message"]["content"] == whole[: whole.index(word)]
    assert found["finish_reason"] == "stop"


@pytest.mark.parametrize(
    ("fields", "status", "code", "param"),
    [
        ({"n": 2}, 400, "unsupported_value", "n"),
        ({"temperature": -1}, 400, "invalid_value", "temperature"),
        ({"model": "gpt-5"}, 404, "model_not_found", "model"),
        ({"max_tokens": 5000}, 400, "context_length_exceeded", "messages"),
        ({"max_tokens": 5000, "stream": True}, 400, "context_length_exceeded", "messages"),
        ({"tool_choice": "required"}, 400, "invalid_value", "tool_choice"),
        ({"messages": []}, 400, "invalid_value", "messages"),
    ],
)
def test_what_is_wrong_is_named(
    server: Served, fields: dict[str, Any], status: int, code: str, param: str
) -> None:
    response = server.chat("Hello", **fields)
    error = response.json()["error"]
    assert (response.status_code, error["code"], error["param"]) == (status, code, param)


def test_an_address_that_is_none_is_named(server: Served) -> None:
    response = server.get("/v2/nothing")
    assert response.status_code == 404
    assert response.json()["error"]["code"] == "unknown_url"


def test_a_page_of_another_host_gets_nothing(server: Served) -> None:
    headers = {"Host": "evil.example:80"}
    assert httpx.get(f"{server.url}/v1/models", headers=headers).status_code == 403
    plain = httpx.post(f"{server.url}/v1/chat/completions", content="{}")
    assert plain.status_code == 415


def test_a_client_that_leaves_frees_its_slot(server: Served) -> None:
    left = server.metric(DISCONNECTED)
    grammar = {"type": "json_schema", "json_schema": {"schema": {"type": "string"}}}
    body = server.body("Write", stream=True, max_tokens=400, response_format=grammar)
    with httpx.stream("POST", f"{server.url}/v1/chat/completions", json=body) as response:
        next(response.iter_lines())
    server.wait_for(DISCONNECTED, lambda count: count > left)
    assert server.metric("requests_running") == 0


def test_a_client_that_leaves_before_a_whole_answer_frees_its_slot(server: Served) -> None:
    left = server.metric(DISCONNECTED)
    form = {"type": "json_schema", "json_schema": {"schema": {"type": "array"}}}
    body = json.dumps(server.body("Write", max_tokens=400, response_format=form))
    host, port = server.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as connection:
        head = "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n"
        kind = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        connection.sendall((head + kind + body).encode())
        server.wait_for("requests_running", bool)
    server.wait_for(DISCONNECTED, lambda count: count > left)
    assert server.metric("requests_running") == 0


def test_requests_and_tokens_are_counted(server: Served) -> None:
    before = server.metric("written_tokens_total")
    completed = server.metric('requests_total{outcome="completed"}')
    server.chat("Hello", max_tokens=3)
    assert server.metric("written_tokens_total") == before + 3
    assert server.metric('requests_total{outcome="completed"}') == completed + 1


def test_pydantic_ai_reads_it_as_any_provider(server: Served) -> None:
    provider = OpenAIProvider(base_url=f"{server.url}/v1", api_key="none")
    agent = Agent(OpenAIChatModel("demo", provider=provider), output_type=bool)
    # An output tool is required, so that the model has to call it.
    result = agent.run_sync("Is the sky blue?", model_settings={"max_tokens": 60})
    assert result.output in (True, False)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_open_requests_end_when_the_server_ends(tmp_path: Path, number: signal.Signals) -> None:
    with serving(tmp_path, "--n-ctx", 2048) as served:
        (record,) = (tmp_path / "served").iterdir()
        assert record.stat().st_mode & 0o777 == 0o600
        form = {"type": "json_schema", "json_schema": {"schema": {"type": "array"}}}
        body = served.body("Write", stream=True, max_tokens=1900, response_format=form)
        with httpx.stream("POST", f"{served.url}/v1/chat/completions", json=body) as response:
            events = events_of(response.iter_lines())
            next(events)
            served.process.send_signal(number)
            *_, last = events
        assert last["error"]["code"] == "server_closing"
        served.process.communicate(timeout=60)
        assert served.process.returncode == 128 + number
    assert not record.exists()


def test_with_a_key_nothing_is_answered_without_it(tmp_path: Path) -> None:
    with serving(tmp_path, "--key-env", "THE_KEY", "--n-ctx", 256, THE_KEY="s3cret") as served:
        assert served.get("/health").status_code == 200
        for path in ("/v1/models", "/metrics"):
            assert served.get(path).status_code == 401
        served.key = "wrong"
        assert served.get("/v1/models").json()["error"]["code"] == "invalid_api_key"
        served.key = "s3cret"
        assert served.get("/v1/models").status_code == 200
