"""Arguments get their schema's shape where what was written has one meaning in it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.models.answers.shapes import shaped

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "count": {"type": "integer"},
        "share": {"type": "number"},
        "deep": {"anyOf": [{"type": "boolean"}, {"type": "null"}], "default": None},
        "tags": {"type": "array", "items": {"type": "string"}},
        "lines": {"type": "array", "items": {"type": "integer"}},
        "options": {"$ref": "#/$defs/Options"},
        "either": {"type": ["string", "integer"]},
        "maxResults": {"type": "integer"},
        "free": {},
    },
    "required": ["path"],
    "$defs": {
        "Options": {
            "type": "object",
            "properties": {
                "mode": {"enum": ["fast", "slow"]},
                "inner": {"$ref": "#/$defs/Options"},
            },
        }
    },
}
WHOLE: dict[str, Any] = {"path": "notes.md"}


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ({"count": "5"}, {"count": 5}),
        ({"count": 5.0}, {"count": 5}),
        ({"share": "0.5"}, {"share": 0.5}),
        ({"deep": "True"}, {"deep": True}),
        ({"deep": "null"}, {"deep": None}),
        ({"tags": '["a", "b",]'}, {"tags": ["a", "b"]}),
        ({"tags": "a"}, {"tags": ["a"]}),
        ({"lines": 3}, {"lines": [3]}),
        ({"lines": ["1", "2"]}, {"lines": [1, 2]}),
        ({"options": '{"mode": "FAST"}'}, {"options": {"mode": "fast"}}),
        ({"options": {"inner": '{"mode": "Slow"}'}}, {"options": {"inner": {"mode": "slow"}}}),
        ({"count": None}, {}),
        ({"max_results": 3}, {"maxResults": 3}),
        ({"MaxResults": 3}, {"maxResults": 3}),
    ],
)  # fmt: skip
def test_what_is_certain_is_mended_and_said(written: dict[str, Any], meant: dict[str, Any]) -> None:
    found = shaped({**WHOLE, **written}, SCHEMA)
    assert found.value == {**WHOLE, **meant}
    assert found.mended


@pytest.mark.parametrize(
    "args",
    [
        {"path": "[1, 2]"},
        {"path": '{"a": 1}'},
        {"path": "5"},
        {"path": "x", "either": "5"},
        {"path": "x", "free": "5"},
        {"path": "x", "free": None},
        {"path": "x", "count": "five"},
        {"path": "x", "count": "5.5"},
        {"path": "x", "share": "1e999"},
        {"path": "x", "deep": "yes"},
        {"path": "x", "tags": "a, b"},
        {"path": "x", "unknown": {"a": "1"}},
        {"path": "x", "maxResults": 1, "max_results": 2},
        {"path": None},
        {"query": {"a": 1}},
    ],
)
def test_what_is_allowed_or_not_certain_stays_as_it_is(args: dict[str, Any]) -> None:
    found = shaped(args, SCHEMA)
    assert (found.value, found.mended) == (args, ())


@pytest.mark.parametrize(
    "wrapped",
    [
        {"arguments": WHOLE},
        {"parameters": '{"path": "notes.md"}'},
        {"input": {"Path": "notes.md"}},
        {"name": "read", "arguments": WHOLE},
        {"tool_call": {"name": "read", "arguments": WHOLE}},
        [WHOLE],
        '{"path": "notes.md"}',
        '"{\\"path\\": \\"notes.md\\"}"',
    ],
)
def test_arguments_are_taken_out_of_what_they_are_wrapped_in(wrapped: Any) -> None:
    assert shaped(wrapped, SCHEMA).value == WHOLE


@pytest.mark.parametrize("nothing", [None, []])
def test_nothing_is_no_arguments(nothing: Any) -> None:
    assert shaped(nothing, {"type": "object", "properties": {}}).value == {}


def test_a_tool_with_a_property_of_that_name_keeps_it() -> None:
    schema = {"type": "object", "properties": {"arguments": {"type": "object"}}}
    assert shaped({"arguments": {"path": "x"}}, schema).value == {"arguments": {"path": "x"}}


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "object", "properties": [], "required": {}},
        {"$ref": "#"},
        {"$ref": "#/$defs/nowhere"},
        {"type": "object", "properties": {"a": {"$ref": "#/properties/a"}}},
        {"type": "object", "properties": {"a": {"anyOf": [{"$ref": "#/properties/a"}] * 9}}},
        {"type": "object", "properties": {"a": {"enum": "x", "type": "string"}}},
    ],
)
def test_any_schema_of_a_server_is_borne(schema: dict[str, Any]) -> None:
    assert shaped({"a": "1"}, schema).value == {"a": "1"}


@given(st.integers(1, 900))
def test_any_depth_of_arguments_is_borne(depth: int) -> None:
    value: Any = {"mode": "fast"}
    for _ in range(depth):
        value = {"inner": value}
    assert shaped({"path": "x", "options": value}, SCHEMA).value == {"path": "x", "options": value}
    assert shaped(value, SCHEMA).value == value
