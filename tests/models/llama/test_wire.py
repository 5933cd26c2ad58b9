"""Requests and answers survive the way to a server unchanged."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.errors import (
    ContextTooSmallError,
    EarlyAbortError,
    InputError,
    ModelError,
    ModelFailedError,
    StepTimeoutError,
    SwarmError,
)
from prefect_swarm.models.llama.api import (
    GeneratedText,
    GenerateRequest,
    LocalTool,
    LocalToolCall,
    Message,
)
from prefect_swarm.models.llama.served import (
    answer_from_json,
    answer_to_json,
    error_to_json,
    proof,
    raise_error,
    request_from_json,
    request_to_json,
)


def over(data: Any) -> Any:
    return json.loads(json.dumps(data))


MESSAGES = st.builds(
    Message,
    st.sampled_from(["system", "user", "assistant", "tool"]),
    st.text(),
    st.lists(st.builds(LocalToolCall, st.text(), st.text(), st.text()), max_size=2).map(tuple),
    st.text(),
    st.text(),
)
TOOLS = st.builds(LocalTool, st.text(), st.text(), st.just({"type": "object", "a": [1, None]}))
REQUESTS = st.builds(
    GenerateRequest,
    st.lists(MESSAGES, min_size=1, max_size=3).map(tuple),
    max_tokens=st.integers(1, 9999),
    may_shorten=st.booleans(),
    temperature=st.floats(0, 2),
    top_p=st.floats(0.01, 1),
    top_k=st.integers(0, 100),
    repeat_penalty=st.floats(1, 2),
    seed=st.none() | st.integers(0, 2**32 - 1),
    stop=st.lists(st.text(), max_size=2).map(tuple),
    tools=st.lists(TOOLS, max_size=2).map(tuple),
    grammar=st.none() | st.text(),
    begun=st.text(),
)


@given(REQUESTS)
def test_a_request_comes_over_whole(request: GenerateRequest) -> None:
    assert request_from_json(over(request_to_json(request))) == request


def test_a_prompt_comes_over_without_what_is_called() -> None:
    request = GenerateRequest(prompt="x", watch=lambda _: "", on_text=print, on_start=print)
    assert request_from_json(over(request_to_json(request))) == GenerateRequest(prompt="x")


def test_an_answer_comes_over_whole() -> None:
    answer = GeneratedText("é", 3, 1, 2, "aborted", 0.5, 1.25, "why")
    assert answer_from_json(over(answer_to_json(answer))) == answer


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        {"messages": 1},
        {"prompt": "x", "max_tokens": "y"},
        {"prompt": "x", "of_another_version": 1},
    ],
)
def test_what_is_no_request_is_refused(data: Any) -> None:
    with pytest.raises(InputError):
        request_from_json(data)


@pytest.mark.parametrize(
    "error",
    [
        ContextTooSmallError("a", "b"),
        StepTimeoutError("a", "b"),
        ModelFailedError("a", "b"),
        ModelError("a", "b"),
        InputError("a", "b"),
        EarlyAbortError("a", "b", 7),
    ],
)
def test_an_error_is_the_same_on_the_other_side(error: SwarmError) -> None:
    with pytest.raises(type(error)) as raised:
        raise_error(over(error_to_json(error)))
    assert type(raised.value) is type(error)
    assert raised.value.args == error.args


def test_only_the_token_proves() -> None:
    assert proof("token", "c") == proof("token", "c")
    assert proof("token", "c") not in (proof("other", "c"), proof("token", "d"))
