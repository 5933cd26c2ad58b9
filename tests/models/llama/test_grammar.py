"""A forced call fits the tool's schema."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from grammar_reader import GrammarReader
from prefect_swarm.models.llama.api import EngineConfig, GenerateRequest, LocalTool, Message
from prefect_swarm.models.llama.engine import get_engine
from prefect_swarm.models.llama.tool_calls import Style, parse_answer
from prefect_swarm.models.llama.turn_grammar import CallRules

CITY: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"$ref": "#/$defs/City"}},
    "required": ["city"],
    "$defs": {"City": {"enum": ["Rome", "Paris"]}},
}
COLOUR: dict[str, Any] = {**CITY, "$defs": {"City": {"enum": ["red"]}}}
STYLES: list[Style] = ["tags", "parameters", "list", "plain"]
TOOLS = (LocalTool("weather", "", CITY), LocalTool("paint", "", COLOUR))


@pytest.fixture(scope="module")
def reader() -> GrammarReader:
    return GrammarReader()


def written(style: Style, name: str, arguments: Any) -> str:
    key = "parameters" if style == "parameters" else "arguments"
    call = json.dumps({"name": name, key: arguments})
    return {"tags": f"<tool_call>\n{call}\n</tool_call>", "list": f"[{call}]"}.get(style, call)


def call_grammar(tools: Sequence[LocalTool], style: Style, *, several: bool = False) -> str:
    calls = CallRules(tools, style, several=several)
    return calls.rules.grammar(calls.whole)


@pytest.mark.parametrize("style", STYLES)
def test_a_call_is_held_to_its_own_tools_schema(reader: GrammarReader, style: Style) -> None:
    grammar = call_grammar(TOOLS, style)
    assert reader.accepts(grammar, written(style, "weather", {"city": "Rome"}))
    # Both schemas call their definition City.
    assert reader.accepts(grammar, written(style, "paint", {"city": "red"}))
    assert not reader.accepts(grammar, written(style, "paint", {"city": "Rome"}))
    assert not reader.accepts(grammar, written(style, "weather", {}))
    assert not reader.accepts(grammar, written(style, "repaint", {"city": "red"}))


def test_a_tool_whose_schema_has_no_grammar_takes_any_object(reader: GrammarReader) -> None:
    odd = LocalTool(
        "odd", "", {"properties": {"a": {"$ref": "#/$defs/missing"}}, "required": ["a"]}
    )
    grammar = call_grammar((*TOOLS, odd), "plain")
    assert reader.accepts(grammar, written("plain", "odd", {"a": [1]}))
    assert not reader.accepts(grammar, written("plain", "odd", [1]))
    assert not reader.accepts(grammar, written("plain", "paint", {"city": "Rome"}))


@pytest.mark.parametrize(("style", "between"), [("tags", "\n"), ("list", None)])
def test_several_calls_may_be_written_where_the_style_has_them(
    reader: GrammarReader, style: Style, between: str | None
) -> None:
    call = written(style, "weather", {"city": "Rome"})
    two = f"{call}\n{call}" if between else f"{call[:-1]}, {call[1:]}"
    assert reader.accepts(call_grammar(TOOLS, style, several=True), two)
    assert not reader.accepts(call_grammar(TOOLS, style), two)


def test_a_list_may_have_its_mark(reader: GrammarReader) -> None:
    call = written("list", "weather", {"city": "Rome"})
    assert reader.accepts(call_grammar(TOOLS, "list"), f"[TOOL_CALLS] {call}")


@pytest.mark.model
@pytest.mark.parametrize("style", STYLES)
def test_the_model_can_write_nothing_but_a_call(
    demo_path: Path, config: EngineConfig, style: Style
) -> None:
    request = GenerateRequest(
        (Message("user", "Weather in Rome?"),),
        temperature=0,
        max_tokens=60,
        tools=TOOLS,
        grammar=call_grammar(TOOLS, style),
    )
    done = asyncio.run(get_engine(demo_path, config).generate(request))
    parsed = parse_answer(done.text, ("weather", "paint"))
    (call,) = parsed.calls
    allowed = {"weather": ("Rome", "Paris"), "paint": ("red",)}
    assert json.loads(call.arguments)["city"] in allowed[call.name]
    assert (parsed.text, done.finish) == ("", "stop")
