"""Time is proportional to the text that a local model writes and to its tools."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from growth import growth
from prefect_swarm.errors import InputError
from prefect_swarm.models.llama.api import LocalTool, Message
from prefect_swarm.models.llama.grammar_rules import TooLargeError
from prefect_swarm.models.llama.tool_calls import HeldText, parse_answer, without_tool_turns
from prefect_swarm.models.llama.turn_grammar import turn_grammar

NAMES = frozenset({"look"})
ANSWERS: dict[str, Callable[[int], str]] = {
    "line breaks in a fence": lambda n: "```" + "\n" * n,
    "line breaks in a fence of JSON": lambda n: "```json\n" + "\n" * n + "x",
    "line breaks": lambda n: "a" + "\n" * n + "b",
    "blanks": lambda n: "a" + " " * n + "b",
    "blanks in a call": lambda n: "<tool_call>x" + "\n" * n + "y",
    "marks": lambda n: "<tool_call>" * n,
    "brackets at the beginning of lines": lambda n: "a\n" + "{\n" * n,
    "objects in lines": lambda n: "a\n" + '{"a": 1}\n' * n,
    "objects in objects": lambda n: '{"a":' * n,
    "fences": lambda n: "```\n" * n,
    "calls": lambda n: '{"name": "look", "arguments": {}}\n' * n,
    "names in a list": lambda n: "[TOOL_CALLS]" + '"name":' * n,
    "quotes": lambda n: "x\n{" + '"' * n,
}


@pytest.mark.attack("load")
@pytest.mark.parametrize("text", ANSWERS.values(), ids=ANSWERS)
def test_an_answer_is_parsed_in_a_time_that_grows_as_it_does(text: Callable[[int], str]) -> None:
    assert growth(lambda n: parse_answer(text(n), NAMES), 2_000) < 9


@pytest.mark.attack("load")
@pytest.mark.parametrize("text", ["\n", "word ", " ", "`", "<", "x"])
def test_a_stream_is_passed_on_in_a_time_that_grows_as_it_does(text: str) -> None:
    def read(pieces: int) -> None:
        held = HeldText()
        for _ in range(pieces):
            held.add(text)
        held.rest(parse_answer("", NAMES))

    assert growth(read, 4_000) < 9


@pytest.mark.parametrize("style", ["tags", "list", "parameters", "plain"])
@pytest.mark.attack("load")
def test_the_grammar_of_tools_grows_as_they_do(style: str) -> None:
    def make(count: int) -> None:
        tools = tools_of(count)
        names = frozenset(tool.name for tool in tools)
        turn_grammar(tools, style, callable_names=names)  # pyright: ignore[reportArgumentType]

    assert growth(make, 200) < 9


def test_as_many_tools_as_openai_takes_have_a_grammar() -> None:
    tools = tools_of(128)
    turn = turn_grammar(tools, "tags", callable_names=frozenset(tool.name for tool in tools))
    assert turn.grammar is not None
    assert turn.leaves_text


@pytest.mark.attack("load")
def test_too_many_tools_are_refused_before_anything_is_made() -> None:
    with pytest.raises(InputError, match=r"20,000 tools; a local model takes 1,000"):
        turn_grammar(tools_of(20_000), "tags", callable_names=frozenset({"tool_1"}))


@pytest.mark.attack("load")
def test_names_that_are_too_long_together_are_refused() -> None:
    tools = [LocalTool(f"{n}{'x' * 5_000}", "", {}) for n in range(9)]
    with pytest.raises(TooLargeError, match="names of the tools are too long"):
        turn_grammar(tools, "tags", callable_names=frozenset(tool.name for tool in tools))


@pytest.mark.attack("load")
def test_turns_of_one_role_are_joined_once() -> None:
    turns = Message("user", "a line of a conversation, " * 40)
    assert growth(lambda n: without_tool_turns([turns] * n), 1_000) < 9


def tools_of(count: int) -> list[LocalTool]:
    city = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    return [LocalTool(f"tool_{n}", "Looks.", city) for n in range(count)]
