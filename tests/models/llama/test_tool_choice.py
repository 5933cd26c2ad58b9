"""The setting `tool_choice` decides which tools the model reads about."""

from __future__ import annotations

from typing import Any

import pytest
from prefect_swarm.errors import InputError
from prefect_swarm.models.llama.asking import offered_tools
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.settings import ModelSettings, ToolOrOutput
from pydantic_ai.tools import ToolDefinition

FUNCTIONS = [ToolDefinition(name="add", description="Adds."), ToolDefinition(name="sub")]
OUTPUTS = [ToolDefinition(name="final")]
TEXT = ModelRequestParameters(function_tools=FUNCTIONS)
TYPED = ModelRequestParameters(
    function_tools=FUNCTIONS, output_tools=OUTPUTS, output_mode="tool", allow_text_output=False
)


@pytest.mark.parametrize(
    ("parameters", "choice", "names", "forced"),
    [
        (ModelRequestParameters(), None, [], False),
        (ModelRequestParameters(), "none", [], False),
        (TEXT, None, ["add", "sub"], False),
        (TEXT, "auto", ["add", "sub"], False),
        (TEXT, "none", [], False),
        (TEXT, [], [], False),
        (TEXT, "required", ["add", "sub"], True),
        (TEXT, ["sub"], ["sub"], True),
        (TEXT, ToolOrOutput(["add"]), ["add"], False),
        (TYPED, None, ["add", "sub", "final"], True),
        (TYPED, "none", ["final"], True),
        (TYPED, "required", ["add", "sub"], True),
        (TYPED, ["final"], ["final"], True),
        (TYPED, ToolOrOutput(["add"]), ["add", "final"], True),
    ],
)
def test_a_choice_offers_tools_and_may_force_a_call(
    parameters: ModelRequestParameters, choice: Any, names: list[str], forced: bool
) -> None:
    found = offered_tools(ModelSettings(tool_choice=choice), parameters)
    assert found.names == set(names)
    assert found.forced is forced


def test_what_tools_there_are_is_said_the_same_way_at_each_turn() -> None:
    shown = [
        [tool.name for tool in offered_tools(ModelSettings(tool_choice=choice), TYPED).tools]
        for choice in (None, "auto", "none", "required", ["sub"], ToolOrOutput(["add"]))
    ]
    assert shown == [["add", "sub", "final"]] * 6


@pytest.mark.parametrize(("has_called", "shown"), [(False, 0), (True, 2)])
def test_tools_that_are_taken_away_are_still_spoken_of_where_they_were_called(
    has_called: bool, shown: int
) -> None:
    found = offered_tools(ModelSettings(tool_choice="none"), TEXT, has_called=has_called)
    assert (len(found.tools), found.names) == (shown, frozenset())


def test_a_tool_keeps_its_description_and_schema() -> None:
    tool = offered_tools({}, TEXT).tools[0]
    assert (tool.description, tool.parameters) == ("Adds.", {"type": "object", "properties": {}})


@pytest.mark.parametrize("choice", ["required", ["mul"]])
def test_a_choice_of_what_is_not_offered_is_named(choice: Any) -> None:
    with pytest.raises(InputError, match="tool_choice is"):
        offered_tools(ModelSettings(tool_choice=choice), ModelRequestParameters())
