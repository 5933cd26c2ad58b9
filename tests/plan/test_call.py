"""Arguments of calls: where their values come from, and what is refused before a run."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ledger import booking, plan_of_calls
from prefect_swarm.errors import CallError, PlanError
from prefect_swarm.plan.call import (
    PlannedCall,
    expectation_problem,
    filled_call,
    names_item,
    outputs_in,
)
from prefect_swarm.plan.compile import compile_plan
from prefect_swarm.plan.items import item_of
from prefect_swarm.plan.output import StepOutput
from prefect_swarm.plan.task_ir import asks_agents, parse_plan
from pydantic import ValidationError

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
).filter(lambda value: "$" not in json.dumps(value))


def call(**arguments: Any) -> PlannedCall:
    return PlannedCall(toolset="ledger", tool="post", arguments=arguments)


def output(name: str, value: object) -> StepOutput:
    return StepOutput(name=name, kind="json", text=json.dumps(value))


def filled(made: PlannedCall, *outputs: StepOutput, item: object = None) -> dict[str, Any]:
    return filled_call(made, outputs, None if item is None else item_of(item)).arguments


@given(value=values)
def test_what_is_no_place_stays(value: object) -> None:
    assert filled(call(value=value)) == {"value": value}


@given(value=values)
def test_a_place_has_the_value_of_the_output_whatever_it_is(value: object) -> None:
    made = call(deep=[{"a": {"$output": "S1/rows/0"}}], whole={"$output": "S1"})
    found = filled(made, output("S1", {"rows": [value]}))
    assert found == {"deep": [{"a": value}], "whole": {"rows": [value]}}


def test_a_value_with_a_place_in_it_is_not_filled_in_again() -> None:
    place = {"$output": "S1/secret"}
    found = filled(call(value={"$output": "S1/it"}), output("S1", {"it": place, "secret": 1}))
    assert found == {"value": place}


def test_a_text_is_had_as_it_is_and_a_member_by_its_id_in_the_plan() -> None:
    text = StepOutput(name="S2[7].S1", text='{"a": 1}')
    assert filled(call(value={"$output": "S1"}), text) == {"value": '{"a": 1}'}


def test_values_of_items() -> None:
    made = call(name={"$item": "/name"}, all={"$item": ""})
    assert names_item(made)
    assert filled(made, item={"name": "tea"}) == {"name": "tea", "all": {"name": "tea"}}


@pytest.mark.parametrize(
    ("place", "why"),
    [
        ({"$output": "S1/none"}, "the output of S1 has nothing at /none"),
        ({"$output": "S2"}, "the output of S2 has nothing"),
        ({"$item": "/name"}, "the item has nothing at /name"),
    ],
)
def test_a_value_that_is_not_there_is_named(place: dict[str, str], why: str) -> None:
    with pytest.raises(CallError, match=why):
        filled(call(value=place), output("S1", {"a": 1}))


@pytest.mark.parametrize(
    "place", [{"$input": "S1"}, {"$output": ""}, {"$output": 1}, {"$item": "name"}]
)
def test_what_looks_like_a_place_and_is_none_is_refused(place: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="its arguments have"):
        call(value=[place])


def test_the_outputs_that_arguments_name_are_found_once() -> None:
    assert outputs_in(call(a={"$output": "S2/x"}, b=[{"$output": "S1"}, {"$output": "S2"}])) == (
        "S2",
        "S1",
    )


def test_what_a_result_has_to_be() -> None:
    made = PlannedCall.model_validate(
        {"toolset": "ledger", "tool": "post", "expect": {"at": "/state", "is": "booked"}}
    )
    assert expectation_problem(made, '{"state": "booked"}') == ""
    assert "post returned" in expectation_problem(made, '{"state": "lost"}')
    assert "post returned" in expectation_problem(made, "no JSON")
    assert expectation_problem(call(), "anything") == ""


READER = [{"name": "Reader", "system_prompt": "You read."}]


@pytest.mark.parametrize(
    ("steps", "why"),
    [
        ([booking("S1", amount={"$output": "S2/x"})], "doesn't depend on it"),
        ([booking("S1", amount={"$item": "/x"})], "has no items"),
        ([booking("S1", amount=1) | {"prompt": "x"}], "has call, so it can't have prompt"),
        ([booking("S1", amount=1) | {"inputs": ["a"]}], "has call, so it can't have inputs"),
        (
            [{"id": "S1", "agent": "Reader", "prompt": "x", "undo": booking("S1")["undo"]}],
            "neither a call nor an agent with tools",
        ),
        (
            [booking("S1", amount=1) | {"for_each": {"items": ["a"]}, "pool": "p"}],
            "S1 has undo; what is done on a pool",
        ),
    ],
)
def test_calls_that_do_not_fit_into_a_plan_are_refused(
    steps: list[dict[str, Any]], why: str
) -> None:
    with pytest.raises(PlanError, match=why):
        parse_plan({"objective": "Book", "agents": READER, "steps": steps})


def test_plans_without_calls_have_the_hash_that_they_had() -> None:
    data = {
        "objective": "Read",
        "agents": READER,
        "steps": [{"id": "S1", "agent": "Reader", "prompt": "x"}],
    }
    digest = "7c8ae026"
    assert compile_plan(parse_plan(data)).content_hash.startswith(digest)


def test_a_plan_of_calls_asks_no_agent() -> None:
    assert not asks_agents(plan_of_calls(booking("S1", amount=1)))
    assert asks_agents(None)
