"""A procedure's places are found, filled in with what can't close its quotes, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from prefect_swarm.errors import InputError
from prefect_swarm.plan.procedure import (
    Parameter,
    Procedure,
    ProcedureBounds,
    SourceCost,
    bounds_from,
    check_procedure,
    fill_in,
    make_places,
    parse_procedure,
    procedure_text,
    read_value,
)
from prefect_swarm.plan.task_ir import TaskIR, parse_plan
from pydantic import ValidationError

PLAN: dict[str, Any] = {
    "objective": "Write the report of week 47",
    "agents": [{"name": "Clerk", "system_prompt": "You report week 47 of 2047."}],
    "steps": [
        {"id": "S1", "agent": "Clerk", "prompt": "Find the sales of week 47 in “Graz”."},
        {
            "id": "S2",
            "agent": "Clerk",
            "prompt": "Write about {item}.",
            "depends_on": ["S1"],
            "for_each": {"items": ["week 47", "the year"]},
            "output": {"kind": "json", "schema": {"const": "47"}},
        },
    ],
}


def report(**parameters: Parameter) -> Procedure:
    plan, _ = make_places(parse_plan(PLAN), {"week": "47", "town": "Graz"})
    known = {"week": Parameter(type="integer"), "town": Parameter(default="Graz"), **parameters}
    return Procedure(name="weekly-report", purpose="Report", parameters=known, plan=plan)


def prompts(plan: TaskIR) -> list[str]:
    return [plan.objective, *(step.prompt for step in plan.steps)]


def test_places_are_made_of_whole_words_in_texts_alone() -> None:
    plan, found = make_places(parse_plan(PLAN), {"week": "47", "town": "Graz"})
    assert plan.objective == "Write the report of week {param.week}"
    assert plan.agents[0].system_prompt == "You report week {param.week} of 2047."
    assert plan.steps[0].prompt == "Find the sales of week {param.week} in {param.town}."
    assert plan.steps[1].output.json_schema == {"const": "47"}
    assert found["town"] == [plan.steps[0].prompt]
    assert "week {param.week}" in found["week"]


def test_a_longer_value_is_found_before_one_that_it_contains() -> None:
    plan, _ = make_places(parse_plan(PLAN), {"number": "47", "when": "week 47"})
    assert plan.objective == "Write the report of {param.when}"


def test_values_are_filled_in_and_defaults_where_none_is_given() -> None:
    filled = fill_in(report(), {"week": 48})
    assert prompts(filled) == [
        "Write the report of week 48",
        "Find the sales of week 48 in “Graz”.",
        "Write about {item}.",
    ]


def test_filled_in_with_its_own_values_a_plan_is_as_it_was() -> None:
    assert fill_in(report(), {"week": 47, "town": "Graz"}) == parse_plan(PLAN)


def test_a_procedure_is_read_as_it_was_written() -> None:
    procedure = report()
    assert parse_procedure(procedure_text(procedure), "it") == procedure


@given(st.text(max_size=60))
def test_a_text_stays_within_its_quotation_marks(town: str) -> None:
    assume(len(town.splitlines()) < 2)
    filled = fill_in(report(), {"week": 48, "town": town})
    prompt = filled.steps[0].prompt
    assert prompt.startswith("Find the sales of week 48 in “")
    assert prompt.endswith("”.")
    inside = prompt.removeprefix("Find the sales of week 48 in “").removesuffix("”.")
    assert not set(inside) & set('"“”')


def test_a_place_within_a_value_is_not_filled_in() -> None:
    filled = fill_in(report(), {"week": 48, "town": "{param.week}"})
    assert filled.steps[0].prompt == "Find the sales of week 48 in “{param.week}”."


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({}, "parameter week .* has no value"),
        ({"week": 1, "month": 2}, "has no parameter 'month'"),
        ({"week": "48"}, "parameter week: '48' is no integer"),
        ({"week": True}, "parameter week: True is no integer"),
        ({"week": 1, "town": "a\nb"}, "a text has one line"),
        ({"week": 1, "town": "{item.name}"}, "has no place for an item"),
        ({"week": 1, "town": "a" * 301}, "of at most 300 characters"),
    ],
)
def test_values_that_do_not_fit_are_named(values: dict[str, Any], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        fill_in(report(), values)


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("48", "integer", 48),
        ("4.5", "number", 4.5),
        ("no", "boolean", False),
        ("48", "text", "48"),
    ],
)
def test_a_typed_value_is_read_as_its_parameter_has_it(text: str, kind: Any, value: object) -> None:
    assert read_value(text, Parameter(type=kind)) == value


@pytest.mark.parametrize(("text", "kind"), [("4.5", "integer"), ("x", "number"), ("1", "boolean")])
def test_a_typed_value_of_another_type_is_refused(text: str, kind: Any) -> None:
    with pytest.raises(ValueError, match=r"is no|neither"):
        read_value(text, Parameter(type=kind))


def test_a_parameter_that_nothing_has_a_place_for_is_refused() -> None:
    with pytest.raises(ValidationError, match="place for the parameter year"):
        report(year=Parameter(type="integer"))


def test_a_place_of_no_parameter_is_refused() -> None:
    text = procedure_text(report()).replace("{param.week}", "{param.month}")
    with pytest.raises(InputError, match=r"\{param\.month\} is no parameter"):
        parse_procedure(text, "it")


def test_a_place_where_no_value_is_filled_in_is_refused() -> None:
    text = procedure_text(report()).replace('const: "47"', 'const: "{param.week}"')
    with pytest.raises(InputError, match="stands where no value is filled in"):
        parse_procedure(text, "it")


def test_what_is_no_procedure_says_what_is_wrong() -> None:
    with pytest.raises(InputError, match=r"it is no procedure: .*name"):
        parse_procedure("purpose: x", "it")
    with pytest.raises(InputError, match="it is not valid YAML: line 1"):
        parse_procedure("{", "it")


def test_arguments_of_calls_get_the_values_themselves() -> None:
    call = {
        "toolset": "ledger",
        "tool": "post",
        "arguments": {
            "week": "{param.week}",
            "note": "week {param.week}",
            "items": ["{param.who}"],
        },
    }
    fields = {
        "name": "book",
        "purpose": "Book it",
        "parameters": {"week": {"type": "integer"}, "who": {}},
        "plan": {"objective": "Book {param.who}", "steps": [{"id": "S1", "call": call}]},
    }
    plan = fill_in(check_procedure(fields, "It"), {"week": 47, "who": 'An "n"'})
    [step] = plan.steps
    assert step.call is not None
    assert step.call.arguments == {"week": 47, "note": "week 47", "items": ['An "n"']}
    assert plan.objective == "Book “An 'n'”"


@pytest.mark.parametrize(
    ("took", "bounds"),
    [
        (SourceCost(), ProcedureBounds()),
        (SourceCost(tokens=1234), ProcedureBounds(max_tokens=12_000)),
        (SourceCost(tokens=1234, runs=10), ProcedureBounds(max_tokens=9_700)),
        (
            SourceCost(tokens=100_000, usd=0.2, runs=4),
            ProcedureBounds(max_tokens=160_000, max_usd=0.32),
        ),
    ],
)
def test_bounds_are_closer_the_more_runs_they_are_made_of(
    took: SourceCost, bounds: ProcedureBounds
) -> None:
    assert bounds_from(took, 8192) == bounds


@given(
    tokens=st.integers(1, 10**9),
    usd=st.none() | st.floats(1e-6, 1e4),
    runs=st.integers(1, 10),
    room=st.integers(0, 10**6),
)
def test_a_run_like_the_dearest_is_within_its_bounds(
    tokens: int, usd: float | None, runs: int, room: int
) -> None:
    bounds = bounds_from(SourceCost(tokens=tokens, usd=usd, runs=runs), room)
    assert bounds.max_tokens is not None
    assert bounds.max_tokens >= tokens + room
    assert (bounds.max_usd or 0) >= (usd or 0)
