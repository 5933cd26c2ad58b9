"""A turn with tools is an answer or a call, and a call fits its tool."""

from __future__ import annotations

import json
from typing import Any

import pytest
from grammar_reader import GrammarReader
from hypothesis import given, settings
from hypothesis import strategies as st
from prefect_swarm.models.llama.api import LocalTool
from prefect_swarm.models.llama.schema_grammar import schema_grammar
from prefect_swarm.models.llama.tool_calls import Style, parse_answer
from prefect_swarm.models.llama.turn_grammar import turn_grammar

CITY: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"enum": ["Rome", "Paris"]}},
    "required": ["city"],
}
TOOLS = (LocalTool("weather", "", CITY), LocalTool("weather_map", "", {}))
NAMES = frozenset(tool.name for tool in TOOLS)
STYLES: list[Style] = ["tags", "parameters", "list", "plain"]
RIGHT = {
    "tags": '<tool_call>\n{"name": "weather", "arguments": {"city": "Rome"}}\n</tool_call>',
    "parameters": '{"name": "weather", "parameters": {"city": "Rome"}}',
    "list": '[{"name": "weather", "arguments": {"city": "Rome"}}]',
    "plain": '{"name": "weather", "arguments": {"city": "Rome"}}',
}
ANSWERS = [
    "",
    "It is sunny.",
    "A < b, {x}, [1], and <tool_",
    "Two\n\nlines\n",
    'JSON looks so:\n```json\n{"name": "Ann", "age": 3}\n```\nand so: {"name": "weather"',
    '{"title": "x"}',
    "[1, 2]",
    "日本 é 🐝",
]


@pytest.fixture(scope="module")
def reader() -> GrammarReader:
    return GrammarReader()


def grammar(style: Style, **options: Any) -> str:
    made = turn_grammar(
        TOOLS, style, callable_names=options.pop("callable_names", NAMES), **options
    )
    assert made.grammar is not None
    return made.grammar


@pytest.mark.parametrize("style", STYLES)
def test_a_turn_is_free_text_or_a_call(reader: GrammarReader, style: Style) -> None:
    rules = grammar(style)
    for answer in ANSWERS:
        assert reader.accepts(rules, answer), answer
        assert not parse_answer(answer, NAMES).calls
    assert reader.accepts(rules, RIGHT[style])
    assert not reader.accepts(rules, RIGHT[style].replace("Rome", "Oslo"))
    assert not reader.accepts(rules, RIGHT[style].replace("weather", "whether"))


@pytest.mark.parametrize("style", ["tags", "list"])
def test_a_mark_anywhere_begins_a_call(reader: GrammarReader, style: Style) -> None:
    mark = {"tags": "", "list": "[TOOL_CALLS] "}[style]
    text = f"I look.\n{mark}{RIGHT[style]}"
    assert reader.accepts(grammar(style), text)
    assert not reader.accepts(grammar(style), text.replace("Rome", "Oslo"))
    assert parse_answer(text, NAMES).calls


@pytest.mark.parametrize("style", STYLES)
def test_bare_json_behind_a_text_is_a_call_if_it_has_a_tools_name(
    reader: GrammarReader, style: Style
) -> None:
    bare = RIGHT["parameters" if style == "parameters" else "plain"]
    for text in (f"I look.\n  {bare}", f"```json\n{bare}\n```"):
        assert reader.accepts(grammar(style), text)
        assert not reader.accepts(grammar(style), text.replace("Rome", "Oslo"))
        assert reader.accepts(grammar(style), text.replace("weather", "whether"))
        assert parse_answer(text, NAMES).calls


@pytest.mark.parametrize("style", STYLES)
def test_a_call_whose_beginning_is_written_can_not_be_left(
    reader: GrammarReader, style: Style
) -> None:
    text = RIGHT[style]
    for end in range(text.index("weather") + 8, len(text)):
        assert not reader.accepts(grammar(style), text[:end])


@pytest.mark.parametrize("style", STYLES)
def test_an_answer_of_a_form_stands_beside_calls(reader: GrammarReader, style: Style) -> None:
    answer = schema_grammar(json.dumps({"properties": {"name": {"const": "sum"}}}))
    rules = grammar(style, answer=answer)
    assert reader.accepts(rules, '{"name": "sum"}')
    assert reader.accepts(rules, RIGHT[style])
    assert not reader.accepts(rules, "It is sunny.")
    assert not reader.accepts(rules, RIGHT[style].replace("Rome", "Oslo"))


def test_a_grammar_of_ones_own_keeps_its_meaning_beside_the_calls(reader: GrammarReader) -> None:
    own = 'root ::= "r1 \\"root\\" [ws]" ws{1,2} # root\nws ::= [ws] | root2\nroot2 ::= "2"'
    rules = grammar("plain", answer=own)
    assert reader.accepts(rules, 'r1 "root" [ws]w2')
    assert not reader.accepts(rules, 'r1 "root" [ws]')
    assert reader.accepts(rules, RIGHT["plain"])


@pytest.mark.parametrize("style", STYLES)
def test_a_forced_turn_is_a_call_of_what_may_be_called(reader: GrammarReader, style: Style) -> None:
    rules = grammar(style, forced=True, callable_names=frozenset({"weather"}))
    assert reader.accepts(rules, RIGHT[style])
    assert not reader.accepts(rules, "It is sunny.")
    assert not reader.accepts(rules, RIGHT[style].replace('weather"', 'weather_map"'))


@pytest.mark.parametrize("style", STYLES)
def test_where_nothing_may_be_called_no_call_can_be_written(
    reader: GrammarReader, style: Style
) -> None:
    rules = grammar(style, callable_names=frozenset())
    assert reader.accepts(rules, "It is sunny.")
    assert reader.accepts(rules, '{"title": "x"}')
    assert not reader.accepts(rules, RIGHT[style])
    assert not reader.accepts(rules, "[TOOL_CALLS]")


def test_an_answer_that_is_written_on_is_within_its_text(reader: GrammarReader) -> None:
    wrong = '{"name": "whether"}'
    assert not reader.accepts(grammar("plain"), wrong)
    assert reader.accepts(grammar("plain", begun="It is:\n"), wrong)
    assert not reader.accepts(grammar("plain", begun='{"na'), 'me": "whether"}')


def test_without_tools_a_turn_is_what_the_answer_is() -> None:
    assert turn_grammar((), "plain", callable_names=frozenset()).grammar is None
    form = turn_grammar((), "plain", callable_names=frozenset(), answer='root ::= "a"')
    assert (form.grammar, form.leaves_text) == ('root ::= "a"', False)


PARTS = [
    "<tool_call>",
    "</tool_call>",
    "[TOOL_CALLS]",
    "\n",
    " ",
    "{",
    '"name"',
    ":",
    '"',
    "x",
    "[",
]
TEXTS = st.lists(
    st.sampled_from([*PARTS, "weather", "weather_map", '{"name": "', *RIGHT.values()]), max_size=8
).map("".join)


@settings(max_examples=100)
@given(TEXTS, st.sampled_from(STYLES))
def test_what_is_read_as_a_call_fits_its_tool(
    reader: GrammarReader, text: str, style: Style
) -> None:
    """The grammar knows no fewer beginnings of calls than their reader does."""
    if not reader.accepts(grammar(style), text):
        return
    for call in parse_answer(text, NAMES).calls:
        assert call.name in NAMES
        assert call.name != "weather" or json.loads(call.arguments)["city"] in ("Rome", "Paris")
