"""A tool's schema is said as providers take it; one that can't be is refused with the reason."""

from __future__ import annotations

from typing import Any

import pytest
from prefect_swarm.toolsets.mcp.listing import SchemaError, usable_schema

TEXT = {"type": "string"}


def deep(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"x": schema}}
    return schema


TREE = {
    "type": "object",
    "properties": {"root": {"$ref": "#/$defs/node"}},
    "$defs": {"node": {"properties": {"next": {"$ref": "#/$defs/node"}}}},
}


@pytest.mark.parametrize(
    ("schema", "usable"),
    [
        ({}, {"type": "object", "properties": {}}),
        ({"type": ["object", "null"]}, {"type": "object", "properties": {}}),
        (
            {"properties": {"a": TEXT}, "required": ["a"]},
            {"type": "object", "properties": {"a": TEXT}, "required": ["a"]},
        ),
        (
            {"anyOf": [{"properties": {"a": TEXT}, "required": ["a"]}, {"properties": {"b": {}}}]},
            {"type": "object", "properties": {"a": TEXT, "b": {}}},
        ),
        (
            {"type": "object", "allOf": [{"properties": {"a": TEXT}, "required": ["a"]}]},
            {"type": "object", "properties": {"a": TEXT}, "required": ["a"]},
        ),
        (
            {"oneOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"properties": {"a": TEXT}}}},
            {
                "type": "object",
                "properties": {"a": TEXT},
                "$defs": {"a": {"properties": {"a": TEXT}}},
            },
        ),
        (TREE, TREE),
        (
            {
                "type": "object",
                "properties": {
                    "pattern": {"type": "string", "pattern": "^a"},
                    "b": {"type": "string", "pattern": "^\\p{L}+$"},
                    "c": {"anyOf": [{"pattern": "(?<year>[0-9]+)"}]},
                },
                "patternProperties": {"^x": TEXT, "[": TEXT},
            },
            {
                "type": "object",
                "properties": {
                    "pattern": {"type": "string", "pattern": "^a"},
                    "b": TEXT,
                    "c": {"anyOf": [{}]},
                },
                "patternProperties": {"^x": TEXT},
            },
        ),
    ],
)
def test_what_can_be_said_as_an_object_is(schema: Any, usable: dict[str, Any]) -> None:
    assert usable_schema(schema) == usable


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        (None, "is null, not an object"),
        ("object", "is a str, not an object"),
        (True, "is a bool, not an object"),
        ({"type": "string"}, "describes 'string'"),
        ({"type": "int"}, "is wrong at type"),
        ({"properties": {"a": TEXT, "required": ["a"]}}, "is wrong at properties/required"),
        ({"properties": {"a": {"$ref": "#/$defs/gone"}}}, "a reference to what isn't in it"),
        ({"properties": {"a": {"$ref": "https://x.org/s.json"}}}, "what isn't in it"),
        (
            {"properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"$ref": "#/$defs/a"}}},
            "leads back to itself",
        ),
        (deep(200), "nested too deeply"),
        ({"description": "x" * 300_000}, "more than 200,000"),
    ],
)
def test_what_no_model_can_be_given_is_refused(schema: Any, problem: str) -> None:
    with pytest.raises(SchemaError, match=problem):
        usable_schema(schema)
