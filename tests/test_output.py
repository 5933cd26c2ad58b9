"""Outputs that a step can be asked for, and impossible ones."""

from __future__ import annotations

from typing import Any

import pytest
from prefect_swarm.errors import PlanError
from prefect_swarm.plan.output import schema_problem
from prefect_swarm.plan.task_ir import Example, Output, parse_plan
from pydantic import BaseModel
from raw_plans import plan, problem, step


@pytest.mark.parametrize("depth", [70, 400, 900])
@pytest.mark.parametrize("keyword", ["not", "default"])
def test_a_schema_nested_too_deeply_is_refused(keyword: str, depth: int) -> None:
    schema: dict[str, Any] = {}
    for _ in range(depth):
        schema = {keyword: schema}
    assert "nested too deeply" in problem(plan(step(1, output={"kind": "json", "schema": schema})))


def test_a_schema_that_contains_itself_twice_is_refused() -> None:
    schema: dict[str, Any] = {}
    schema.update({"not": schema, "default": schema})
    assert "nested too deeply" in schema_problem(schema)


def test_a_schema_of_many_levels_is_taken() -> None:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(25):
        schema = {"properties": {"part": schema}}
    assert parse_plan(plan(step(1, output={"kind": "json", "schema": schema})))


def python_step(number: int, *examples: dict[str, Any]) -> dict[str, Any]:
    return step(number, output={"kind": "python", "examples": list(examples)})


@pytest.mark.parametrize(
    ("call", "why"),
    [
        ("x = f(1)", "it is not a Python expression: "),
        ("f(1", "it is not a Python expression: "),
        ("import os", "it is not a Python expression: "),
        ("await f(1)", "it is not a Python expression: 'await' outside function"),
        ("f('\0')", "it is not a Python expression: "),
        ("-" * 20_000 + "f(1)", "it is not a Python expression: "),
        ("1 + 1", "it uses no name"),
    ],
)
def test_an_example_that_can_not_be_evaluated_is_refused_with_its_place(
    call: str, why: str
) -> None:
    good = {"call": "f(0)", "gives": 0}
    message = problem(plan(step(1), python_step(2, good, {"call": call, "gives": 1})))
    assert f"step S2.output.examples.1.call: {why}" in message


@pytest.mark.parametrize("call", ["f(1)", "[f(n) for n in range(3)]", "(x := f(1)) + x", " f(2) "])
def test_an_example_is_any_expression(call: str) -> None:
    ir = parse_plan(plan(python_step(1, {"call": call, "gives": 1})))
    assert ir.steps[0].output.examples[0].call == call.strip()


def nested_list(depth: int) -> list[Any]:
    return [nested_list(depth - 1)] if depth else []


@pytest.mark.parametrize(
    ("gives", "why"),
    [
        (float("nan"), "its value is not valid JSON: nan"),
        ([1e999], "its value is not valid JSON: inf"),
        (nested_list(41), "nested too deeply"),
        (["long"] * 30_000, "over 100000 characters"),
        ({1: 2}, "its value is not valid JSON: 1 is a key"),
        ({1, 2}, "its value is not valid JSON: set"),
    ],
    ids=["no number", "infinity", "deep", "large", "key", "set"],
)
def test_an_example_of_what_nothing_could_give_is_refused(gives: Any, why: str) -> None:
    message = problem(plan(python_step(1, {"call": "f()", "gives": gives})))
    assert "step S1.output.examples.0.gives: " in message
    assert why in message


def test_an_examples_tuple_is_a_list() -> None:
    assert Example(call="f()", gives=((1, 2), {"a": (3,)})).gives == [[1, 2], {"a": [3]}]


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ({"$ref": "#/$defs/missing"}, "a reference to what isn't in it: '#/$defs/missing'"),
        ({"items": {"$ref": "https://far.away/"}}, "a reference to what isn't in it: 'https:"),
        ({"$ref": "#"}, "a reference that leads back to itself: '#'"),
        (
            {
                "properties": {"a": {"$ref": "#/$defs/b"}},
                "$defs": {"b": {"$ref": "#/$defs/c"}, "c": {"$ref": "#/$defs/b"}},
            },
            "a reference that leads back to itself",
        ),
        ({"pattern": "("}, "wrong at pattern: '(' is not a 'regex'"),
    ],
    ids=["to nothing", "elsewhere", "to itself", "in a circle", "a pattern"],
)
def test_a_schema_that_can_not_be_applied_is_refused(schema: dict[str, Any], why: str) -> None:
    message = problem(plan(step(1, output={"kind": "json", "schema": schema})))
    assert "step S1.output: the output's JSON Schema" in message
    assert why in message


def test_a_schema_may_refer_to_its_own_parts() -> None:
    anchored: dict[str, Any] = {"$id": "https://own.example/named", "$ref": "#there"}
    anchored["$defs"] = {"x": {"$anchor": "there", "type": "string"}}
    inner = {"type": "object", "properties": {"inner": {"$ref": "#/$defs/tree"}}}
    tree = {"$ref": "#/$defs/tree", "$defs": {"tree": inner, "named": anchored}}
    again = {"$ref": "https://json-schema.org/draft/2020-12/schema"}
    for schema in (tree, again):
        parse_plan(plan(step(1, output={"kind": "json", "schema": schema})))


def test_an_outputs_schema_is_written_as_schema() -> None:
    output = Output(kind="json", schema={"type": "object"})
    written = output.model_dump(exclude_defaults=True)
    assert written == {"kind": "json", "schema": {"type": "object"}}


def test_a_pydantic_model_may_stand_for_its_schema() -> None:
    class Person(BaseModel):
        name: str

    output = Output.model_validate({"kind": "json", "schema": Person})
    assert output.json_schema == Person.model_json_schema()


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        (
            {"kind": "text", "examples": [{"call": "f(1)", "gives": 1}]},
            "examples are for output kind",
        ),
        ({"kind": "python", "max_words": 9}, "max_words is for output kind text, not python"),
        ({"kind": "json", "sections": ["A"]}, "sections is for output kind text, not json"),
        ({"kind": "text", "min_words": 9, "max_words": 3}, "min_words 9 is over max_words 3"),
        ({"kind": "text", "form": "poem"}, "form"),
    ],
)
def test_an_output_asks_only_what_its_kind_can_give(fields: dict[str, Any], why: str) -> None:
    with pytest.raises(PlanError, match=why):
        parse_plan(plan(step(1, output=fields)))
