"""Answers in chunks say the same as whole ones."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.models.llama.api import GeneratedText
from prefect_swarm.serve.endpoints import ChatAnswer, chat_answer

PIECES = st.lists(
    st.sampled_from(
        [
            "a",
            " b",
            "\n",
            "{",
            "}",
            "<tool",
            "_call>",
            '{"name": "f", "arguments": {}}',
            "</tool_call>",
        ]
    ),
    max_size=8,
)


def done(text: str) -> GeneratedText:
    return GeneratedText(text, 3, 1, 2, "stop", 0.0, 0.0)


def in_chunks(pieces: list[str], names: tuple[str, ...]) -> tuple[str, list[Any], str]:
    answer = ChatAnswer(names, "demo", 0, usage=False)
    chunks = [answer.begin()]
    for piece in pieces:
        chunks += answer.add(piece)
    chunks += answer.end(done("".join(pieces)))
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks]
    text = "".join(delta.get("content", "") for delta in deltas)
    calls = [call["function"] for delta in deltas for call in delta.get("tool_calls", [])]
    return text, calls, chunks[-1]["choices"][0]["finish_reason"]


@given(PIECES)
def test_without_tools_chunks_add_up_to_the_text(pieces: list[str]) -> None:
    assert in_chunks(pieces, ()) == ("".join(pieces), [], "stop")


@given(PIECES)
def test_with_tools_chunks_have_the_same_text_and_calls(pieces: list[str]) -> None:
    whole = chat_answer(done("".join(pieces)), ("f",), model="demo", created=0)["choices"][0]
    text, calls, finish = in_chunks(pieces, ("f",))
    message = whole["message"]
    assert calls == [call["function"] for call in message.get("tool_calls", [])]
    assert finish == whole["finish_reason"]
    assert text.split() == (message["content"] or "").split()


def test_a_call_ends_the_answer_for_its_sake() -> None:
    text = 'Wait. <tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call>'
    message = chat_answer(done(text), ("f",), model="demo", created=0)["choices"][0]
    assert message["finish_reason"] == "tool_calls"
    assert message["message"]["content"] == "Wait."


def test_the_last_chunk_has_the_tokens_if_they_are_wanted() -> None:
    answer = ChatAnswer((), "demo", 0, usage=True)
    *_, last = answer.end(done("x"))
    assert last["choices"] == []
    assert last["usage"] == {
        "prompt_tokens": 3,
        "completion_tokens": 2,
        "total_tokens": 5,
        "prompt_tokens_details": {"cached_tokens": 1},
    }
