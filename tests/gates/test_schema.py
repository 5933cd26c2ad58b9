"""The schema gate: what passes is JSON of the step's form, and what does not says where."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from gate_checks import found as finding
from gate_checks import result, subject
from prefect_swarm.errors import Category
from prefect_swarm.gates import Finding
from prefect_swarm.gates.json_schema import JsonSchema, check_schema
from pydantic import BaseModel

PERSON: dict[str, Any] = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0}},
    "required": ["name"],
}


def judged(artifact: str, schema: dict[str, Any] | None = None) -> Finding:
    return finding("schema", artifact, "json", schema=schema)


def messages(result: Finding) -> tuple[str, ...]:
    return tuple(map(str, result.diagnostics))


@pytest.mark.parametrize("artifact", ['{"name": "Ann"}', ' {"name": "Ann", "age": 3}\n'])
def test_an_artifact_of_the_asked_form_passes(artifact: str) -> None:
    assert judged(artifact, PERSON) == Finding(status="passed")


@pytest.mark.parametrize("artifact", ["null", "3", '"text"', "[]", "{}"])
def test_any_json_passes_where_no_form_is_asked(artifact: str) -> None:
    assert judged(artifact).status == "passed"


@pytest.mark.parametrize(
    ("artifact", "found"),
    [
        ("", "line 1, column 1: not JSON: Expecting value"),
        ("Here you are: {}", "line 1, column 1: not JSON: Expecting value"),
        ('{"a": 1,\n"b"}', "line 2, column 4: not JSON: Expecting ':' delimiter"),
        ("{} {}", "line 1, column 4: not JSON: Extra data"),
    ],
)
def test_what_is_not_json_fails_on_its_format_with_the_place(artifact: str, found: str) -> None:
    result = judged(artifact, PERSON)
    assert (result.status, result.category) == ("failed", Category.FORMAT)
    assert messages(result) == (found,)


@pytest.mark.parametrize("constant", ["NaN", "Infinity", "[-Infinity]"])
def test_constants_that_json_does_not_have_fail_on_their_format(constant: str) -> None:
    assert judged(constant).category is Category.FORMAT


@pytest.mark.parametrize("looping", ["[" * 20_000, "7" * 20_000], ids=["brackets", "digits"])
def test_a_model_that_loops_fails_on_its_format(looping: str) -> None:
    assert judged(looping).category is Category.FORMAT


@pytest.mark.parametrize(
    ("artifact", "found"),
    [
        ("{}", "$: 'name' is a required property"),
        ('{"name": 7}', "$.name: 7 is not of type 'string'"),
        ('{"name": "Ann", "age": -1}', "$.age: -1 is less than the minimum of 0"),
    ],
)
def test_another_form_fails_on_its_schema_with_the_place(artifact: str, found: str) -> None:
    result = judged(artifact, PERSON)
    assert (result.status, result.category) == ("failed", Category.SCHEMA)
    assert messages(result) == (found,)


def test_a_pydantic_model_is_such_a_form() -> None:
    class Person(BaseModel):
        name: str
        age: int = 0

    assert judged('{"name": "Ann"}', Person.model_json_schema()).status == "passed"
    assert judged('{"name": 7}', Person.model_json_schema()).category is Category.SCHEMA


def test_all_mistakes_are_named_up_to_twenty_and_the_others_counted() -> None:
    strings = {"type": "array", "items": {"type": "string"}}

    def named(count: int) -> list[str]:
        return [each.message for each in judged(json.dumps([0] * count), strings).diagnostics]

    assert len(named(20)) == 20
    assert all("is not of type 'string'" in message for message in named(20))
    assert named(23)[19:] == ["$[19]: 0 is not of type 'string'", "and 3 more"]


def test_a_long_value_hides_no_mistake() -> None:
    schema = {"properties": {"a": {"type": "string"}, "b": {"type": "string"}}}
    found = judged(json.dumps({"a": [1] * 1000, "b": 2}), schema).diagnostics
    assert [len(each.message) < 300 for each in found] == [True, True]
    assert found[0].message.endswith("is not of type 'string'")


@pytest.mark.parametrize(
    ("artifact", "schema"),
    [
        ("1", {"$ref": "#/$defs/missing"}),
        ("1", {"$ref": "#"}),
        ("1e400", {"multipleOf": 0.5}),
    ],
    ids=["a reference to nothing", "a reference to itself", "a number out of range"],
)
def test_a_schema_that_cannot_be_applied_is_an_error_of_the_gate(
    artifact: str, schema: dict[str, Any]
) -> None:
    result = check_schema(schema, json.loads(artifact))
    assert result.status == "error"
    assert "schema can't be applied" in messages(result)[0]


@pytest.mark.filterwarnings("ignore:Automatically retrieving remote references")
def test_a_schema_from_elsewhere_is_not_fetched(tmp_path: Path) -> None:
    elsewhere = tmp_path / "anything.json"
    elsewhere.write_text("{}", encoding="utf-8")
    assert check_schema({"$ref": elsewhere.as_uri()}, 1).status == "error"


def test_a_pattern_is_matched_and_one_that_takes_for_ever_is_late() -> None:
    short = {"type": "string", "pattern": "^[a-z]+$"}
    assert judged('"abc"', short).status == "passed"
    assert judged('"ABC"', short).category is Category.SCHEMA
    endless = subject(f'"{"a" * 60}!"', "json", schema={"type": "string", "pattern": "^(a+)+$"})
    found = result(replace(JsonSchema(), timeout_s=2.0), endless)
    assert (found.status, found.category) == ("failed", Category.TIMEOUT)


@pytest.mark.parametrize(
    ("artifact", "place"),
    [
        ('{"a": 1, "a": 2}', '$: the key "a" is there twice'),
        ('{"a": [{"b c": 1, "d": {}, "b c": 1}]}', '$.a[0]: the key "b c" is there twice'),
        ("[1, NaN]", "$[1]: NaN is not a number that JSON can hold"),
        ('{"x y": -Infinity}', '$["x y"]: -Infinity is not a number'),
        ('{"a": {"b": 1e999}}', "$.a.b: Infinity is not a number that JSON can hold"),
        (r'["a", "\ud83d"]', r"$[1]: the text has half of a character, '\ud83d'"),
        (r'{"\udc00": 1}', r'$: the key "\udc00" has half of a character'),
    ],
)
def test_json_that_readers_understand_differently_is_refused_with_its_place(
    artifact: str, place: str
) -> None:
    finding = judged(artifact)
    assert finding.category is Category.FORMAT
    assert messages(finding)[0].startswith(place)


@pytest.mark.parametrize("artifact", [r'"\ud83d\ude00"', '{"a": {"a": 1}}', "[1e308, -0.0, 1E5]"])
def test_json_that_all_readers_understand_alike_passes(artifact: str) -> None:
    assert judged(artifact).status == "passed"


@pytest.mark.parametrize("schema", [None, {"items": {"$ref": "#"}}, {"items": {"pattern": "a"}}])
@pytest.mark.parametrize("depth", [101, 400, 900, 100_000])
def test_json_that_is_nested_too_deeply_is_the_artifacts_fault(
    depth: int, schema: dict[str, Any] | None
) -> None:
    finding = judged("[" * depth + "]" * depth, schema)
    assert (finding.status, finding.category) == ("failed", Category.FORMAT)


@pytest.mark.parametrize("schema", [None, {"items": {"$ref": "#"}}, {"items": {"pattern": "a"}}])
def test_json_of_a_hundred_levels_is_read(schema: dict[str, Any] | None) -> None:
    assert judged("[" * 100 + "]" * 100, schema).status == "passed"
