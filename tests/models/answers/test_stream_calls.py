"""Calls of a stream: as many as the provider means, whatever index and id it gives them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.models.answers.stream import CallPiece, CallsApart
from prefect_swarm.models.limited_model import LimitedModel
from prefect_swarm.models.streaming import streaming_to
from provider_server import Reply, provider_server
from pydantic_ai.messages import ModelRequest, ModelResponse
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.tools import ToolDefinition

Piece = dict[str, Any]


class Nobody:
    def begin(self) -> None: ...
    def add(self, piece: str) -> None: ...


def streamed(pieces: Sequence[Piece]) -> ModelResponse:
    """What an answer is whose stream has these pieces of calls, an event each."""
    deltas: list[Any] = [{"role": "assistant"}, *({"tool_calls": [piece]} for piece in pieces), {}]
    events: list[str] = []
    for number, delta in enumerate(deltas):
        reason = "tool_calls" if number == len(deltas) - 1 else None
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        head = {"id": "1", "object": "chat.completion.chunk", "created": 0, "model": "m"}
        events.append(f"data: {json.dumps({**head, 'choices': [choice]})}\n\n")
    body = "".join([*events, "data: [DONE]\n\n"]).encode()

    async def ask(url: str) -> ModelResponse:
        provider = OpenAIProvider(base_url=url, api_key="sk-test")
        model = LimitedModel(OpenAIChatModel("m", provider=provider))
        tools = [ToolDefinition(name="read"), ToolDefinition(name="list")]
        with streaming_to(Nobody(), of_providers=True, of_calls=True):
            async with model:
                return await model.request(
                    [ModelRequest.user_text_prompt("?")],
                    None,
                    ModelRequestParameters(function_tools=tools),
                )

    with provider_server(lambda _: Reply(raw=body)) as server:
        return asyncio.run(ask(server.url))


def piece(name: str | None, args: str, id: str | None = None, index: int = 0) -> Piece:  # noqa: A002
    function = {"arguments": args} | ({"name": name} if name else {})
    return {"index": index, "function": function} | (
        {"id": id, "type": "function"} if id is not None else {}
    )


WHOLE = [
    pytest.param(
        [piece("read", '{"at": "a"}', "a"), piece("read", '{"at": "b"}', "b")], id="own ids"
    ),
    pytest.param(
        [piece("read", '{"at": "a"}', "call_0"), piece("read", '{"at": "b"}', "call_0")],
        id="one id",
    ),
    pytest.param([piece("read", '{"at": "a"}', ""), piece("read", '{"at": "b"}', "")], id="empty"),
    pytest.param([piece("read", '{"at": "a"}'), piece("read", '{"at": "b"}')], id="no ids"),
    pytest.param(
        [piece("read", '{"at": "a"}', "read"), piece("read", '{"at": "b"}', "read", 1)],
        id="the tool's name, and indexes",
    ),
    pytest.param(
        [
            piece("read", "", "call_0"),
            piece(None, '{"at": '),
            piece(None, '"a"}'),
            piece("read", "", "call_0"),
            piece(None, '{"at": "b"}'),
        ],
        id="in pieces, under one id",
    ),
    pytest.param(
        [
            piece("read", '{"at"', "a"),
            piece("read", ': "a"}', "a"),
            piece("read", "", "a"),
            piece("read", '{"at"', "b"),
            piece("read", ': "b"}', "b"),
        ],
        id="each piece names its call",
    ),
]


@pytest.mark.parametrize("pieces", WHOLE)
def test_two_calls_of_a_stream_are_two(pieces: list[Piece]) -> None:
    calls = streamed(pieces).tool_calls
    assert [(call.tool_name, call.args_as_dict()) for call in calls] == [
        ("read", {"at": "a"}),
        ("read", {"at": "b"}),
    ]
    assert len({call.tool_call_id for call in calls}) == 2


def test_a_name_in_pieces_is_one_name() -> None:
    calls = streamed([piece("re", "", "a"), piece("ad", "", None), piece(None, "{}")]).tool_calls
    assert [(call.tool_name, call.args) for call in calls] == [("read", "{}")]


@given(
    st.lists(st.dictionaries(st.text(max_size=3), st.text(max_size=8), max_size=2), min_size=1),
    st.sampled_from(["own", "one", "none"]),
    st.integers(1, 6),
)
def test_calls_under_one_index_come_apart_wherever_they_are_cut(
    calls: list[dict[str, str]], ids: str, size: int
) -> None:
    apart = CallsApart()
    found: dict[Any, list[str]] = {}
    for number, arguments in enumerate(calls):
        name = {"own": f"id {number}", "one": "call_0", "none": None}[ids]
        text = json.dumps(arguments)
        pieces = [text[at : at + size] for at in range(0, len(text), size)]
        came = [CallPiece(0, "read", "", name), *(CallPiece(0, None, each) for each in pieces)]
        for each in came:
            if (sorted_out := apart.piece(each)) is not None:
                found.setdefault(sorted_out.key, []).append(str(sorted_out.args or ""))
    assert [json.loads("".join(pieces)) for pieces in found.values()] == calls


def test_what_is_not_known_by_an_index_stays_as_it_is() -> None:
    came = CallPiece("item_1", "read", "{}", "a")
    assert CallsApart().piece(came) is came


def test_arguments_that_go_on_are_not_read_with_each_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def is_json(text: str) -> bool:
        read.append(text)
        return text.endswith("}")

    monkeypatch.setattr("prefect_swarm.models.answers.stream.is_json", is_json)
    calls = CallsApart()
    pieces = ['{"text": "', *["one more word "] * 500, '"}']
    found = [calls.piece(CallPiece(0, "write", text, "call_0")) for text in pieces]
    assert {piece.key for piece in found if piece} == {0}
    assert read == []
    assert calls.piece(CallPiece(0, "write", "{}", "call_0")) != found[-1]
    assert len(read) == 1
