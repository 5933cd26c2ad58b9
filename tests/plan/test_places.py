"""Where a plan points is checked against what its schemas say, before there is anything."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.errors import PlanError
from prefect_swarm.plan.places import item_place
from prefect_swarm.plan.pointers import schema_at
from prefect_swarm.plan.program import ForEach
from prefect_swarm.plan.step import Step
from prefect_swarm.plan.task_ir import PlanRules, parse_plan

FOUND: dict[str, Any] = {
    "type": "object",
    "properties": {
        "papers": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "title": {"type": "string"},
                    "year": {"type": "integer"},
                    "authors": {"type": "array", "items": {"type": "string"}},
                },
            },
        },
        "kind": {"enum": ["bug", "idea"]},
        "open": {},
    },
}
FINDER = {"output": {"kind": "json", "schema": FOUND}}
PAPERS = {"items": "S1", "at": "/papers"}
FOLLOWED = {"items": "S2"}


def problem(*steps: dict[str, Any]) -> str:
    """What is wrong with a plan of these steps; "" if nothing is."""
    full: list[dict[str, Any]] = []
    for number, step in enumerate(steps, 1):
        work = {} if "plan" in step or "collect" in step else {"agent": "Ann", "prompt": "Do it."}
        if work:
            work["prompt"] += f" {number}"
        full.append({"id": f"S{number}", **work, **step})
    agents = [{"name": "Ann", "system_prompt": "You do."}]
    data = {"objective": "Do all", "agents": agents, "steps": full}
    try:
        parse_plan(data, PlanRules(inputs=frozenset({"rows.csv"})))
    except PlanError as error:
        return error.problem
    return ""


def inner(*steps: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {
        "steps": [
            {"id": f"S{number}", "agent": "Ann", "prompt": f"Do {number}.", **step}
            for number, step in enumerate(steps, 1)
        ],
        **fields,
    }


@pytest.mark.parametrize(
    "steps",
    [
        [FINDER, {"for_each": PAPERS, "prompt": "Read {item.title} of {item.authors.0}, {index}."}],
        [FINDER, {"for_each": {"items": "S1", "at": "/open"}, "prompt": "Read {item.any.thing}."}],
        [{"output": {"kind": "json"}}, {"for_each": PAPERS, "prompt": "Read {item.what}."}],
        [FINDER, {"for_each": {**PAPERS, "where": {"at": "/year", "over": 2000}, "key": "/title"}}],
        [FINDER, {"when": {"step": "S1", "at": "/kind", "is": "bug"}}],
        [FINDER, {"when": {"step": "S1", "at": "/papers/0/year", "over": 1}}],
        [{}, {"when": {"step": "S1", "is": "yes"}}, {"when": {"step": "S1", "matches": "a+"}}],
        [{"for_each": {"items": "rows.csv"}, "prompt": "Read {item.name}."}],
        [{"for_each": {"items": [{"a": 1}, {"b": [{"c": 2}]}]}, "prompt": "{item.b.0.c}"}],
        [{"for_each": {"items": ["x", "y"]}, "prompt": "Do {item}."}],
        [FINDER, {"for_each": PAPERS}, {"for_each": FOLLOWED, "prompt": "Judge {item.year}."}],
        [FINDER, {"for_each": PAPERS, **FINDER}, {"for_each": {**PAPERS, "items": "S2"}}],
        [FINDER, {"for_each": PAPERS, "plan": inner({"prompt": "Read {item.title}."})}],
        [{"plan": inner(FINDER)}, {"for_each": PAPERS, "prompt": "{item.title}"}],
        [{**FINDER, "repeat": {"until": {"at": "/kind", "is": "bug"}}}],
        [{**FINDER, "repeat": {"until": "no_new_items", "at": "/papers", "key": "/title"}},
         {"for_each": {"items": "S1"}, "prompt": "Read {item.title}."}],
        [{}, {"collect": "list", "depends_on": ["S1"]}, {"for_each": {"items": "S2"}}],
        [FINDER, {"for_each": PAPERS, **FINDER},
         {"when": {"step": "S2", "at": "/0/kind", "is": "bug"}}],
        [{"prompt": "Print f'{item.name}'."}],
    ],
)  # fmt: skip
def test_what_leads_to_something_is_a_plan(steps: list[dict[str, Any]]) -> None:
    assert problem(*steps) == ""


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        ([FINDER, {"for_each": {"items": "S1", "at": "/articles"}}],
         "step S2 has its items from S1 at /articles, and in its output there is no /articles; "
         "it has papers, kind, open; `at` may be /papers"),
        ([FINDER, {"for_each": {"items": "S1"}}],
         "step S2 has its items from S1, and in its output it is an object, not a list"),
        ([FINDER, {"for_each": {"items": "S1", "at": "papers"}}], "it begins with no slash"),
        ([FINDER, {"for_each": {"items": "S1", "at": "/papers/0/title"}}],
         "/papers/0/title is a text, not a list"),
        ([{}, {"for_each": {"items": "S1"}}],
         "step S2 has its items from S1, which has output kind text: it has to be json"),
        ([{}, {"collect": "table", "depends_on": ["S1"]}, {"for_each": {"items": "S2"}}],
         "which has collect table: it has to be json"),
        ([{"plan": inner({})}, {"for_each": {"items": "S1"}}], "which has output kind text"),
        ([FINDER, {"for_each": PAPERS, "prompt": "Read {item.doi}."}],
         "the prompt names {item.doi}, and in an item there is no /doi; it has title, year"),
        ([FINDER, {"for_each": PAPERS, "prompt": "Read {item.title.de}."}],
         "there is no /title/de; /title is a text"),
        ([FINDER, {"for_each": PAPERS}, {"for_each": FOLLOWED, "prompt": "Judge {item.doi}."}],
         "step S3 has no such value: the prompt names {item.doi}"),
        ([FINDER, {"for_each": PAPERS, "plan": inner({"prompt": "Read {item.doi}."})}],
         "step S2.S1 has no such value: the prompt names {item.doi}"),
        ([{"for_each": {"items": [{"a": 1}, {"b": 2}]}, "prompt": "{item.c}"}],
         "there is no /c; it has a, b"),
        ([{"for_each": {"items": ["x"]}, "prompt": "{item.name}"}],
         "there is no /name; it is a text"),
        ([{"for_each": {"items": "*.csv"}, "prompt": "{item.name}"}], "there is no /name"),
        ([FINDER, {"for_each": PAPERS}, {"prompt": "Compare {item.title}."}],
         "step S3 names {item.title} in its prompt, and is done once: give it for_each"),
        ([FINDER, {"for_each": PAPERS}, {"plan": inner({"prompt": "Compare {item}."})}],
         "step S3.S1 names {item} in its prompt"),
        ([FINDER, {"for_each": {**PAPERS, "key": "/doi"}}],
         "step S2 tells items apart by key /doi, and in an item there is no /doi"),
        ([FINDER, {"for_each": {**PAPERS, "where": {"at": "/doi", "empty": False}}}],
         "step S2 has a condition `where` on /doi, and there is no /doi"),
        ([FINDER, {"when": {"step": "S1", "at": "/sort", "is": "bug"}}],
         "step S2 has a condition `when` on /sort of S1, and there is no /sort"),
        ([FINDER, {"when": {"any": [{"not": {"step": "S1", "at": "/sort", "empty": True}}]}}],
         "there is no /sort"),
        ([{}, {"when": {"step": "S1", "at": "/kind", "is": "bug"}}],
         "step S2 has a condition `when` on /kind of S1, whose output is a text"),
        ([FINDER, {"when": {"step": "S1", "at": "/kind", "is": "Bug"}}],
         "a condition `when` that never holds: /kind of S1 is 'bug' or 'idea', not 'Bug'"),
        ([FINDER, {"for_each": {**PAPERS, "where": {"at": "/year", "is": "2020"}}}],
         "a condition `where` that never holds: /year is integer, not '2020'"),
        ([FINDER, {"for_each": {**PAPERS, "where": {"at": "/title", "over": 3}}}],
         "/title is string, not a number"),
        ([FINDER, {"for_each": {**PAPERS, "where": {"at": "/year", "matches": "20"}}}],
         "/year is integer, not a text"),
        ([{}, {"when": {"step": "S1", "over": 3}}], "S1 is string, not a number"),
        ([{**FINDER, "repeat": {"until": {"at": "/problems", "empty": True}}}],
         "step S1 has a condition `until` on /problems, and there is no /problems"),
        ([{"repeat": {"until": {"at": "/problems", "empty": True}}}], "whose output is a text"),
        ([{"repeat": {"until": "no_new_items"}}], "its output has to be json with a list"),
        ([{**FINDER, "repeat": {"until": "no_new_items", "at": "/kind2"}}], "there is no /kind2"),
        ([{**FINDER, "repeat": {"until": "no_new_items", "at": "/papers", "key": "/doi"}}],
         "step S1 tells items apart by key /doi"),
        ([FINDER, {"for_each": PAPERS, **FINDER},
          {"when": {"step": "S2", "at": "/kind", "is": "bug"}}], "there is no /kind; it is a list"),
        ([FINDER, {"for_each": PAPERS}, {"for_each": {**FOLLOWED, "key": "/title"}}],
         "step S3 follows S2 item by item, so it can't have key"),
        ([{"for_each": {"items": ["a"], "at": "/x"}}],
         "step S1 has `at` '/x' beside items that are a list in the plan"),
        ([{"for_each": {"items": "*.pdf", "at": "/x"}}],
         "step S1 has `at` '/x' beside items that are the inputs that '*.pdf' matches"),
        ([{"plan": inner({}), "output": {"kind": "json"}}],
         "step S1 has plan, so it can't have output; it belongs to a step inside"),
        ([{"plan": inner({}), "settings": {"temperature": 0}}], "so it can't have settings"),
        ([FINDER, {"when": {"is": 1, "all": [{"step": "S1", "exists": True}]}}],
         "step S2 has a condition `when` that names no step"),
    ],
)  # fmt: skip
def test_what_leads_to_nothing_is_said(steps: list[dict[str, Any]], said: str) -> None:
    assert said in problem(*steps)


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=10,
)


@given(st.lists(_VALUES, min_size=1, max_size=4), st.data())
def test_what_one_of_the_items_in_a_plan_has_is_no_problem(
    items: list[Any], data: st.DataObject
) -> None:
    step = Step(id="S1", agent="Ann", prompt="Do {item}", for_each=ForEach(items=tuple(items)))
    place = item_place(step, {})
    assert place is not None
    value, pointer = data.draw(st.sampled_from(items)), ""
    while value and isinstance(value, dict | list):
        names = [*value] if isinstance(value, dict) else [*range(len(value))]
        name = data.draw(st.sampled_from(names))
        pointer += "/" + str(name).replace("~", "~0").replace("/", "~1")
        value = value[name]
    if place.place is not None:
        schema_at(place.place, pointer)
