"""The calls in an answer are parts of the response."""

from __future__ import annotations

from prefect_swarm.models.llama.api import Finish, GeneratedText
from prefect_swarm.models.llama.asking import finish_of, parts_of
from prefect_swarm.models.llama.tool_calls import parse_answer
from pydantic_ai.messages import TextPart, ToolCallPart

CALL = '{"name": "add", "arguments": {"a": 1}}'


def done(text: str, finish: Finish = "stop") -> GeneratedText:
    return GeneratedText(text, 1, 0, 1, finish, 0.0, 0.0)


def test_text_and_calls_are_parts() -> None:
    text, call = parts_of(done(f"I add. <tool_call>{CALL}</tool_call>"), ("add",))
    assert isinstance(text, TextPart)
    assert isinstance(call, ToolCallPart)
    assert (text.content, call.tool_name, call.args) == ("I add.", "add", '{"a": 1}')


def test_a_call_alone_has_no_text() -> None:
    (call,) = parts_of(done(CALL), ("add",))
    assert isinstance(call, ToolCallPart)


def test_an_answer_of_nothing_is_an_empty_text() -> None:
    assert parts_of(done(""), ("add",)) == [TextPart("")]


def test_a_response_says_why_it_ended() -> None:
    called = parse_answer(CALL, ("add",))
    assert finish_of(done(CALL), called) == "tool_call"
    assert finish_of(done(CALL, "length"), called) == "length"
    assert finish_of(done("x", "aborted")) == "error"
    assert finish_of(done("x")) == "stop"
