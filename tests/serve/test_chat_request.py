"""A client's chat request becomes the engine's, or an error that names the field."""

from __future__ import annotations

import json
from typing import Any

import pytest
from prefect_swarm.models.llama.api import GenerateRequest, LocalTool, LocalToolCall, Message
from prefect_swarm.serve.chat_request import ChatRequest, chat_request, read_chat_body
from prefect_swarm.serve.connection import ApiError

USER = {"role": "user", "content": "Hello"}
TOOLS = [
    {"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}},
    {"type": "function", "function": {"name": "now", "description": "The time."}},
]
ADD = LocalTool("add", "", {"type": "object"})
NOW = LocalTool("now", "The time.", {"type": "object", "properties": {}})


def read(**fields: Any) -> ChatRequest:
    body = {"model": "demo", "messages": [USER], **fields}
    return chat_request(read_chat_body(json.dumps(body).encode()), max_tokens=99, style="plain")


def test_what_is_left_out_is_the_engines_own() -> None:
    assert read() == ChatRequest(
        GenerateRequest((Message("user", "Hello"),), max_tokens=99, may_shorten=True)
    )


@pytest.mark.parametrize(
    ("fields", "name", "value"),
    [
        ({"max_tokens": 7}, "max_tokens", 7),
        ({"max_tokens": 7}, "may_shorten", False),
        ({"max_completion_tokens": 8, "max_tokens": 7}, "max_tokens", 8),
        ({"temperature": 0}, "temperature", 0),
        ({"top_p": 0.5}, "top_p", 0.5),
        ({"top_k": 3}, "top_k", 3),
        ({"seed": 5}, "seed", 5),
        ({"stop": "x"}, "stop", ("x",)),
        ({"stop": ["x", "y"]}, "stop", ("x", "y")),
        ({"stop": None, "seed": None, "n": None, "user": "me", "store": True}, "stop", ()),
        ({"tools": TOOLS}, "tools", (ADD, NOW)),
        ({"tools": TOOLS, "tool_choice": "auto"}, "leaves_text", True),
        ({"tools": TOOLS, "tool_choice": "required"}, "leaves_text", False),
        ({"tools": TOOLS, "tool_choice": "none"}, "tools", ()),
        (
            {
                "tools": TOOLS,
                "tool_choice": {"type": "function", "function": {"name": "now"}},
            },
            "tools",
            (ADD, NOW),
        ),
        ({"response_format": {"type": "text"}}, "grammar", None),
    ],
)
def test_each_field_has_its_place(fields: dict[str, Any], name: str, value: Any) -> None:
    assert getattr(read(**fields).generate, name) == value


@pytest.mark.parametrize(
    ("choice", "names"),
    [
        (None, {"add", "now"}),
        ("auto", {"add", "now"}),
        ("required", {"add", "now"}),
        ({"type": "function", "function": {"name": "now"}}, {"now"}),
        ("none", set[str]()),
    ],
)
def test_a_choice_says_which_tools_may_be_called(choice: Any, names: set[str]) -> None:
    assert read(tools=TOOLS, tool_choice=choice).names == names


def test_tools_that_were_called_are_spoken_of_where_none_may_be() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": "{}"}}
    messages = [
        USER,
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "2"},
    ]
    found = read(messages=messages, tools=TOOLS, tool_choice="none")
    assert (found.generate.tools, found.names) == ((ADD, NOW), frozenset())


def test_a_form_of_the_answer_does_not_forbid_calls() -> None:
    found = read(tools=TOOLS, response_format={"type": "json_object"})
    assert "answer-root |" in (found.generate.grammar or "")
    assert not found.generate.leaves_text


@pytest.mark.parametrize(("several", "more"), [(None, 7), (True, 7), (False, 0)])
def test_a_turn_has_several_calls_unless_the_client_wants_a_single_call(
    several: bool | None, more: int
) -> None:
    body = {"model": "demo", "messages": [USER], "tools": TOOLS, "parallel_tool_calls": several}
    chat = chat_request(read_chat_body(json.dumps(body).encode()), max_tokens=9, style="tags")
    assert f"{{0,{more}}}" in (chat.generate.grammar or "")


@pytest.mark.parametrize(
    "fields",
    [
        {"tools": TOOLS, "tool_choice": "required"},
        {"response_format": {"type": "json_object"}},
        {"response_format": {"type": "json_schema", "json_schema": {"schema": {}}}},
    ],
)
def test_what_the_answer_has_to_be_is_a_grammar(fields: dict[str, Any]) -> None:
    assert "root ::=" in (read(**fields).generate.grammar or "")


def test_calls_of_one_id_are_answered_in_their_order() -> None:
    def asks(*names: str) -> dict[str, Any]:
        functions = [{"name": name, "arguments": "{}"} for name in names]
        calls = [{"id": "c", "type": "function", "function": each} for each in functions]
        return {"role": "assistant", "content": None, "tool_calls": calls}

    result = {"role": "tool", "tool_call_id": "c", "content": "2"}
    messages = [USER, asks("add", "now"), result, result, asks("now"), result]
    turns = read(messages=messages).generate.messages
    assert [turn.name for turn in turns if turn.role == "tool"] == ["add", "now", "now"]


def test_a_conversation_keeps_its_calls_and_knows_who_answered() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a":1}'}}
    messages = [
        USER,
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "2"},
        {"role": "developer", "content": [{"type": "text", "text": "Be brief."}]},
    ]
    assert read(messages=messages).generate.messages == (
        Message("system", "Be brief."),
        Message("user", "Hello"),
        Message("assistant", "", (LocalToolCall("add", '{"a":1}', "c1"),)),
        Message("tool", "2", call_id="c1", name="add"),
    )


@pytest.mark.parametrize(
    ("fields", "param", "text"),
    [
        ({"n": 2}, "n", "2"),
        ({"logprobs": True}, "logprobs", "True"),
        ({"presence_penalty": 0.5}, "presence_penalty", "0.5"),
        ({"top_p": 0}, "top_p", "0"),
        ({"max_tokens": 0}, "max_tokens", "0"),
        ({"temperature": "hot"}, "temperature", "hot"),
        ({"messages": [{"role": "clown", "content": ""}]}, "messages.0.role", "clown"),
        ({"messages": [{"role": "user", "content": ""}]}, "messages.0.content", "no text"),
        ({"tools": [{"type": "function"}]}, "tools.0.function", "missing"),
        ({"tool_choice": "required"}, "tool_choice", "none"),
        (
            {
                "tools": TOOLS,
                "tool_choice": {"type": "function", "function": {"name": "sub"}},
            },
            "tool_choice",
            "add, now",
        ),
        ({"response_format": {"type": "json_schema"}}, "response_format.json_schema", "missing"),
        (
            {
                "response_format": {
                    "type": "json_schema",
                    "json_schema": {"schema": {"$ref": "#/$defs/none"}},
                }
            },
            "response_format",
            "grammar",
        ),
    ],
)
def test_a_wrong_value_is_named_with_its_field(
    fields: dict[str, Any], param: str, text: str
) -> None:
    with pytest.raises(ApiError) as raised:
        read(**fields)
    assert (raised.value.status, raised.value.param) == (400, param)
    assert text in str(raised.value)


@pytest.mark.parametrize("data", [b"", b"[]", b"{"])
def test_a_body_that_is_no_object_is_refused(data: bytes) -> None:
    with pytest.raises(ApiError, match="not a JSON object"):
        read_chat_body(data)


def test_an_image_is_refused() -> None:
    part = {"type": "image_url", "image_url": {"url": "x"}}
    with pytest.raises(ApiError) as raised:
        read(messages=[{"role": "user", "content": [part]}])
    assert (raised.value.param or "").startswith("messages.0.content")
