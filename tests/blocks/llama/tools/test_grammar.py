"""A forced call fits the tool's schema."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from prefect_swarm.blocks.llama import (
    EngineConfig,
    GenerateRequest,
    LocalTool,
    Message,
    get_engine,
)
from prefect_swarm.blocks.llama.tools import Style, call_grammar, parse_answer, schema_grammar
from prefect_swarm.blocks.llama.tools.grammar import call_schema
from prefect_swarm.errors import InputError

CITY: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"$ref": "#/$defs/City"}},
    "required": ["city"],
    "$defs": {"City": {"enum": ["Rome", "Paris"]}},
}
COLOUR: dict[str, Any] = {**CITY, "$defs": {"City": {"enum": ["red"]}}}
TOOLS = (LocalTool("weather", "", CITY), LocalTool("paint", "", COLOUR))


def test_definitions_of_one_name_stay_apart() -> None:
    schema = call_schema(TOOLS, "plain")
    first, second = schema["anyOf"]
    assert schema["$defs"] == {
        "t0_City": {"enum": ["Rome", "Paris"]},
        "t1_City": {"enum": ["red"]},
    }
    assert first["properties"]["arguments"]["properties"]["city"] == {"$ref": "#/$defs/t0_City"}
    assert second["properties"]["name"] == {"const": "paint"}


def test_a_schema_that_no_grammar_can_say_is_an_input_error() -> None:
    with pytest.raises(InputError, match="No grammar can be made"):
        schema_grammar('{"$ref": "#/$defs/missing"}')


@pytest.mark.model
@pytest.mark.parametrize("style", ["tags", "parameters", "list", "plain"])
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
