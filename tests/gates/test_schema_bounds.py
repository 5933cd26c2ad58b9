"""A schema of others is applied within bounds of work and time, and fetches nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest
from gate_checks import result, subject
from prefect_swarm.gates.json_schema import JsonSchema, check_schema
from prefect_swarm.gates.json_validator import TooMuchWorkError, may_take_long, misfits
from prefect_swarm.host.bounded import ProcessBounds
from prefect_swarm.plan.output import schema_problem

SHORT = ProcessBounds(1.0)


def doubling(levels: int, word: str) -> dict[str, Any]:
    """A schema that is looked at twice on each level."""
    parts: dict[str, Any] = {
        f"a{n}": {word: [{"$ref": f"#/$defs/a{n + 1}"}] * 2} for n in range(levels)
    }
    parts[f"a{levels}"] = {"type": "string"}
    return {"$ref": "#/$defs/a0", "$defs": parts}


@pytest.mark.parametrize(("word", "value"), [("anyOf", 7), ("allOf", "a"), ("oneOf", "a")])
@pytest.mark.attack("parsers")
def test_a_schema_that_doubles_with_each_level_is_stopped(word: str, value: object) -> None:
    with pytest.raises(TooMuchWorkError):
        misfits(doubling(40, word), value, 2_000)


SLOW = {
    "a pattern": ({"pattern": "^(a+)+$"}, "a" * 40 + "!"),
    "all of them other ones": ({"uniqueItems": True}, [{"a": n} for n in range(20_000)]),
    "a choice on each level": (doubling(40, "anyOf"), 7),
}


@pytest.mark.parametrize(("schema", "value"), SLOW.values(), ids=SLOW)
@pytest.mark.attack("parsers")
def test_what_takes_for_ever_does_not_fit(schema: dict[str, Any], value: Any) -> None:
    found = check_schema(schema, value, SHORT)
    assert found.status == "failed"
    assert "takes more than 1 s" in str(found.diagnostics[0])


@pytest.mark.parametrize(
    "inner",
    [
        {"properties": {"a": {"pattern": "x"}}},
        {"$schema": "https://json-schema.org/draft/2020-12/schema", "items": {"$schema": "x"}},
        {"unevaluatedProperties": False},
        {"items": {"uniqueItems": True}},
    ],
)
@pytest.mark.attack("parsers")
def test_what_may_take_long_is_left_to_another_process(inner: dict[str, Any]) -> None:
    assert may_take_long(inner)


def test_a_usual_schema_is_applied_here() -> None:
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object"}
    assert not may_take_long(schema)
    assert check_schema(schema, {}).status == "passed"
    assert check_schema({"items": {"pattern": "^a"}}, ["ab", "b"]).status == "failed"
    assert check_schema({"uniqueItems": True}, [1, 2]).status == "passed"


@pytest.mark.parametrize(
    "schema",
    [
        {"pattern": "a{99999999999999999999}"},
        {"pattern": "(" * 5_000},
        {"patternProperties": {"a{99999999999999999999}": {}}},
        {"$ref": "http://127.0.0.1:9/schema"},
        {"properties": {"a": {"$ref": "file:///etc/passwd"}}},
        {"$ref": "http://[::1"},
        {"minimum": float("nan")},
        {"minimum": 10**5_000},
        {"enum": [object()]},
        {"enum": ["\ud800"]},
    ],
    ids=lambda schema: repr([*schema])[:40],
)
@pytest.mark.attack("parsers")
def test_a_schema_that_can_not_be_applied_says_why(schema: dict[str, Any]) -> None:
    assert "the output's JSON Schema" in schema_problem(schema)


@pytest.mark.attack("parsers")
def test_the_gate_names_twenty_faults_of_thousands_and_counts_a_thousand() -> None:
    schema = {"items": {"type": "string"}}
    found = result(JsonSchema(), subject(json.dumps([0] * 3_000), "json", schema=schema))
    assert len(found.diagnostics) == 21
    assert found.diagnostics[-1].message == "and at least 980 more"
