"""Ids of calls: our own by position, and the provider's own where it is asked again."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.models.answers.call_ids import (
    WithOwnIds,
    as_sent,
    own_id,
    with_own_history,
    with_own_ids,
)
from prefect_swarm.models.limited_model import LimitedModel
from provider_server import Asked, Reply, provider_server
from pydantic_ai import Agent
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

IDS = st.sampled_from(["", "call_0", "look", "functions.look:0", "x" * 80, "c00000001"])
ANSWERS = st.lists(st.lists(IDS, min_size=1, max_size=3), min_size=1, max_size=5)


def conversation(answers: Sequence[Sequence[str]]) -> list[ModelMessage]:
    """Calls under these ids, each with a result that names its place."""
    messages: list[ModelMessage] = [ModelRequest([UserPromptPart("?")])]
    for turn, ids in enumerate(answers):
        messages.append(ModelResponse([ToolCallPart("look", {"at": turn}, name) for name in ids]))
        results = [ToolReturnPart("look", f"{turn}.{n}", name) for n, name in enumerate(ids)]
        messages.append(ModelRequest(results))
    return messages


def pairs(messages: Sequence[ModelMessage]) -> list[tuple[str, str, Any]]:
    """Each call's id, and the id and content of the result at its place."""
    found: list[tuple[str, str, Any]] = []
    for message, following in pairwise(messages):
        if isinstance(message, ModelResponse) and isinstance(following, ModelRequest):
            for call, result in zip(message.tool_calls, following.parts, strict=True):
                assert isinstance(result, ToolReturnPart)
                found.append((call.tool_call_id, result.tool_call_id, result.content))
    return found


@given(ANSWERS)
def test_each_call_of_a_conversation_has_an_id_of_its_own_that_its_result_has_too(
    answers: list[list[str]],
) -> None:
    found = pairs(with_own_history(conversation(answers)))
    places = [f"{turn}.{n}" for turn, ids in enumerate(answers) for n in range(len(ids))]
    assert [content for _, _, content in found] == places
    assert all(call == result for call, result, _ in found)
    assert len({call for call, _, _ in found}) == len(places)


@given(ANSWERS)
def test_ids_follow_from_positions_alone(answers: list[list[str]]) -> None:
    own = with_own_history(conversation(answers))
    assert with_own_history(own) == own
    assert [call for call, _, _ in pairs(own)] == [
        own_id(turn, n) for turn, ids in enumerate(answers) for n in range(len(ids))
    ]


@given(st.integers(0, 0xFFFF), st.integers(0, 0xFFFF))
def test_every_provider_takes_the_form_of_our_ids(turn: int, position: int) -> None:
    """Mistral wants nine letters and digits, Anthropic no other signs, OpenAI 40 at most."""
    assert re.fullmatch("[a-zA-Z0-9]{9}", own_id(turn, position))


@given(ANSWERS)
def test_a_provider_is_sent_the_ids_that_it_gave_and_each_once(answers: list[list[str]]) -> None:
    messages: list[ModelMessage] = []
    for message in conversation(answers):
        if isinstance(message, ModelResponse):
            messages.append(with_own_ids(message, messages, "it"))
        else:
            calls = messages[-1].tool_calls if messages and _is_answer(messages[-1]) else []  # pyright: ignore[reportAttributeAccessIssue]
            results = [ToolReturnPart("look", "x", call.tool_call_id) for call in calls]
            messages.append(ModelRequest(results or message.parts))
    sent, elsewhere = pairs(as_sent(messages, "it")), pairs(as_sent(messages, "another"))
    assert all(call == result for call, result, _ in [*sent, *elsewhere])
    assert len({call for call, _, _ in sent}) == len(sent)
    assert [call for call, _, _ in elsewhere] == [call for call, _, _ in pairs(messages)]
    given_ids = {name for ids in answers for name in ids if name not in ("", "c00000001")}
    assert {call for call, _, _ in sent} >= given_ids


def _is_answer(message: ModelMessage) -> bool:
    return isinstance(message, ModelResponse)


def test_a_model_that_asks_no_provider_has_our_ids_as_well() -> None:
    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        read = [p for m in messages for p in m.parts if isinstance(p, ToolReturnPart)]
        if len(read) >= 4:
            return ModelResponse([TextPart(" ".join(str(part.content) for part in read))])
        numbers = (len(read), len(read) + 1)
        return ModelResponse([ToolCallPart("double", {"n": n}, "same") for n in numbers])

    agent = Agent(WithOwnIds(FunctionModel(answer)))
    agent.tool_plain(name="double")(_double)
    result = asyncio.run(agent.run("?"))
    assert result.output == "0 2 4 6"


def _double(n: int) -> int:
    return 2 * n


# --- a provider ---------------------------------------------------------------------------------


def asked_in_turns(names: Sequence[Sequence[str | None]]) -> list[Asked]:
    """The requests of an agent whose provider gives its calls these ids, an answer each."""

    def reply(asked: Asked) -> Reply:
        turn = sum(message["role"] == "assistant" for message in asked.body["messages"])
        if turn >= len(names):
            return Reply("Done.")
        calls = [_call(name, f"{turn}.{n}") for n, name in enumerate(names[turn])]
        message = {"role": "assistant", "content": None, "tool_calls": calls}
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
        head = {"id": "1", "object": "chat.completion", "created": 0, "model": "m"}
        return Reply(raw=json.dumps({**head, "choices": [choice]}).encode())

    async def run(url: str) -> None:
        provider = OpenAIProvider(base_url=url, api_key="sk-test")
        agent = Agent(LimitedModel(OpenAIChatModel("m", provider=provider)))
        agent.tool_plain(name="look")(_echo)
        await agent.run("?")

    with provider_server(reply) as server:
        asyncio.run(run(server.url))
        return list(server.asked)


def _echo(at: str) -> str:
    return f"seen {at}"


def _call(name: str | None, at: str) -> dict[str, Any]:
    call = {"type": "function", "function": {"name": "look", "arguments": json.dumps({"at": at})}}
    return call if name is None else {"id": name, **call}


def sent_ids(asked: Asked) -> list[str]:
    """The ids of a request's calls; each has a result of its own, which fits it."""
    called: dict[str, str] = {}
    results: dict[str, str] = {}
    for message in asked.body["messages"]:
        for call in message.get("tool_calls") or []:
            assert call["id"] not in called
            called[call["id"]] = json.loads(call["function"]["arguments"])["at"]
        if message["role"] == "tool":
            assert message["tool_call_id"] not in results
            results[message["tool_call_id"]] = message["content"]
    assert results == {name: f"seen {at}" for name, at in called.items()}
    return list(called)


@pytest.mark.parametrize(
    "names",
    [
        [["call_0"], ["call_0"], ["call_0"]],
        [["call_0", "call_0"], ["call_0", "call_1"]],
        [["look"], ["look"]],
        [["", ""], [""]],
        [["x" * 200], ["x" * 200]],
    ],
    ids=["one id", "one id in one answer", "the tool's name", "empty", "long"],
)
def test_a_provider_reads_each_call_with_its_own_result(names: list[list[str | None]]) -> None:
    asked = asked_in_turns(names)
    assert len(asked) == len(names) + 1
    assert len(sent_ids(asked[-1])) == sum(map(len, names))


def test_ids_that_name_their_tools_come_back_to_the_model_that_reads_them() -> None:
    """Kimi K2 calls no more where its own ids are replaced."""
    names = [["functions.look:0", "functions.look:1"], ["functions.look:2"]]
    assert sent_ids(asked_in_turns(names)[-1]) == [name for ids in names for name in ids]


def test_a_request_begins_as_the_one_before_did() -> None:
    """So that what a provider has cached stays of use."""
    asked = [each.body["messages"] for each in asked_in_turns([["call_0"], ["call_0"], ["call_0"]])]
    for before, after in pairwise(asked):
        assert after[: len(before)] == before
