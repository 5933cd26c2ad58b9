"""Calls have the names of offered tools, and arguments in the shape of their schemas."""

from __future__ import annotations

from typing import Any

import pytest
from prefect_swarm.models.answers.shapes import offered_name
from prefect_swarm.models.answers.stream import read_response
from prefect_swarm.models.answers.usage import MENDED, note
from pydantic_ai.messages import FinishReason, ModelResponse, ToolCallPart
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.tools import ToolDefinition

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "count": {"type": "integer"}},
    "required": ["path"],
}
ASKED = ModelRequestParameters(
    function_tools=[ToolDefinition(name="read_file", parameters_json_schema=SCHEMA)]
)


def read(args: str | dict[str, Any], reason: FinishReason = "tool_call") -> ModelResponse:
    answer = ModelResponse([ToolCallPart("read_file", args, "call_1")], finish_reason=reason)
    return read_response(answer, ASKED)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("read_file", "read_file"),
        ("functions.read_file", "read_file"),
        ("default_api:read_file", "read_file"),
        ("default_api.read_file", "read_file"),
        ("tool_read_file", "read_file"),
        ("mcp__files__read_file", "read_file"),
        ("functions.read_file:0", "read_file"),
        ("read_file<|channel|>commentary", "read_file"),
        ("ReadFile", "read_file"),
        ("tools.readFile", "read_file"),
        ("'read_file'", "read_file"),
        ("delete_file", None),
        ("x_file", None),
        ("functions.write_file", None),
        ("LOOK", None),
        ("", None),
        (".", None),
    ],
)
def test_a_name_means_the_only_offered_tool_that_it_can(name: str, meant: str | None) -> None:
    assert offered_name(name, ["read_file", "file", "look_", "look"]) == meant


def test_arguments_are_mended_and_that_is_noted() -> None:
    answer = read("{'path': 'a', \"count\": \"3\",}")
    assert answer.tool_calls[0].args == '{"path": "a", "count": 3}'
    assert "arguments of read_file: a trailing comma left out" in note(answer, MENDED)
    assert "arguments of read_file: count: a number taken out of a text" in note(answer, MENDED)


def test_arguments_that_are_an_object_stay_one() -> None:
    assert read({"path": "a", "count": "3"}).tool_calls[0].args == {"path": "a", "count": 3}


@pytest.mark.parametrize(
    "args", ['{"path":  "a"}', "", "{}", '{"path": "say "hi" now"}', '["a"]', '{"path": "cut']
)
def test_arguments_that_are_right_or_can_not_be_read_stay_as_they_are(args: str) -> None:
    answer = read(args)
    assert (answer.tool_calls[0].args, answer.metadata) == (args, None)


def test_brackets_are_not_added_to_arguments_that_were_cut_off() -> None:
    assert read('{"path": "a"', "length").tool_calls[0].args == '{"path": "a"'
    assert read('{"path": "a"').tool_calls[0].args == '{"path": "a"}'


@pytest.mark.parametrize("args", ["null", "[]"])
def test_nothing_is_no_arguments(args: str) -> None:
    assert read(args).tool_calls[0].args == "{}"


def test_the_call_keeps_its_id() -> None:
    assert read('{"path": "a",}').tool_calls[0].tool_call_id == "call_1"
