"""Plans that depend on what is found are taken as models write them, where that has one meaning."""

from __future__ import annotations

import json
from typing import Any

import pytest
from prefect_swarm.errors import PlanError
from prefect_swarm.plan.conditions import Condition
from prefect_swarm.plan.program import BestOf, ForEach, Repeat, Review
from prefect_swarm.plan.task_ir import PlanRules, Step
from prefect_swarm.tasks.planner.written import ReadPlan, read_answer
from pydantic_ai.messages import ModelResponse, ToolCallPart

FOUND = {
    "type": "object",
    "properties": {
        "papers": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "title": {"type": "string"},
                    "pdf_url": {"type": "string"},
                    "year": {"type": "integer"},
                    "is_open": {"type": "boolean"},
                },
            },
        },
        "kind": {"enum": ["bug", "idea"]},
        "count": {"type": "integer"},
        "is_new": {"type": "boolean"},
    },
}
FINDER: dict[str, Any] = {
    "agent": "Finder",
    "prompt": "List them.",
    "output": {"kind": "json", "json_schema": json.dumps(FOUND)},
}
READER: dict[str, Any] = {"agent": "Reader", "prompt": "Read {item.title}."}
AGENTS = [{"name": name, "system_prompt": f"You are {name}."} for name in ("Finder", "Reader")]


def read(*tasks: dict[str, Any], rules: PlanRules | None = None) -> ReadPlan:
    args = {"create_subagent": AGENTS, "assign_task": [*tasks]}
    answer = ModelResponse([ToolCallPart("write_plan", args)])
    return read_answer(answer, "Read them", rules or PlanRules(inputs=frozenset({"a.csv"})))


def second(**changes: Any) -> Step:
    """What is read of an assignment after one that finds papers."""
    return read(FINDER, {**READER, **changes}).plan.steps[1]


@pytest.mark.parametrize(
    "written",
    [
        {"for_each": {"items": "S1", "at": "/papers"}},
        {"for_each": "S1./papers"},
        {"for_each": "S1.papers"},
        {"for_each": "S1/papers"},
        {"for_each": "{{ S1.papers }}"},
        {"for_each": "${S1.papers}"},
        {"for_each": "S1.papers[*]"},
        {"for_each": "S1.output.papers"},
        {"for_each": {"items": "S1.papers"}},
        {"for_each": {"items": "S1", "at": "papers"}},
        {"for_each": {"items": "S1", "at": "$.papers"}},
        {"for_each": {"items": "S1", "at": "$.papers[*]"}},
        {"for_each": {"items": "S1", "at": "/papers/*"}},
        {"for_each": {"items": "S1", "at": "papers[*]"}},
        {"for_each": {"items": "S1", "at": "#/papers"}},
        {"for_each": {"items": "S1", "at": "/Papers"}},
        {"for_each": {"items": "S1", "at": "/output/papers"}},
        {"for_each": {"items": 1, "at": "/papers"}},
        {"for_each": {"items": "1", "at": "/papers"}},
        {"for_each": {"items": {"step": "S1", "at": "/papers"}}},
        {"for_each": {"source": "S1", "path": "papers"}},
        {"for_each": {"items": "S1"}},
        {"for_each": {"items": "S1", "at": ""}},
        {"foreach": {"items": "S1", "at": "/papers"}},
        {"forEach": "S1.papers"},
        {"loop_over": "S1.papers"},
        {"map": {"over": "S1", "at": "/papers"}},
    ],
)
def test_where_items_come_from_is_read_as_it_is_meant(written: dict[str, Any]) -> None:
    step = second(**written)
    assert step.for_each == ForEach(items="S1", at="/papers")


@pytest.mark.parametrize(
    ("prompt", "meant"),
    [
        ("Read {{item.title}}.", "Read {item.title}."),
        ("Read {{ item }}.", "Read {item}."),
        ("Read ${item.title}.", "Read {item.title}."),
        ("Read {item['title']} of {item[\"year\"]}.", "Read {item.title} of {item.year}."),
        ("Read {item.pdfUrl}.", "Read {item.pdf_url}."),
        ("{{index}}: {item}", "{index}: {item}"),
        ("Write {braces} and {{ more }} of {item}.", "Write {braces} and {{ more }} of {item}."),
    ],
)
def test_places_in_prompts_are_read_as_they_are_meant(prompt: str, meant: str) -> None:
    assert second(prompt=prompt, for_each="S1.papers").prompt == meant


def test_a_name_that_a_plan_gives_its_items_is_read() -> None:
    for_each = {"items": "S1", "at": "/papers", "as": "paper"}
    assert second(prompt="Read {paper.title}.", for_each=for_each).prompt == "Read {item.title}."


@pytest.mark.parametrize(
    "prompt", ["Render {{ item }}.", "Have it print `f'{item}'`.", "Write:\n```\n{item.name}\n```"]
)
def test_without_items_braces_stay_as_they_are(prompt: str) -> None:
    assert second(prompt=prompt).prompt == prompt


@pytest.mark.parametrize(
    ("when", "meant"),
    [
        ("S1.kind == 'bug'", {"step": "S1", "at": "/kind", "is": "bug"}),
        ("S1.kind == Bug", {"step": "S1", "at": "/kind", "is": "bug"}),
        ("{{ S1.kind != 'bug' }}", {"step": "S1", "at": "/kind", "is_not": "bug"}),
        ("S1.kind in ['bug', 'idea']", {"step": "S1", "at": "/kind", "in": ["bug", "idea"]}),
        ("S1.count > 3", {"step": "S1", "at": "/count", "over": 3}),
        ("len(S1.papers) > 0", {"step": "S1", "at": "/papers", "empty": False}),
        ("S1.is_new", {"step": "S1", "at": "/is_new", "is": True}),
        ("S1.isNew and S1.count < 9", {"all": [
            {"step": "S1", "at": "/is_new", "is": True},
            {"step": "S1", "at": "/count", "under": 9},
        ]}),
        ("not S1.is_new", {"not": {"step": "S1", "at": "/is_new", "is": True}}),
        ({"step": "S1", "at": "kind", "is": "bug"}, {"step": "S1", "at": "/kind", "is": "bug"}),
        ({"step": 1, "path": "$.kind", "equals": "bug"},
         {"step": "S1", "at": "/kind", "is": "bug"}),
        ({"at": "S1.kind", "is": "bug"}, {"step": "S1", "at": "/kind", "is": "bug"}),
        ({"step": "S1.kind", "is": "bug"}, {"step": "S1", "at": "/kind", "is": "bug"}),
        ({"step": "S1", "at": "/is_new", "is": "true"},
         {"step": "S1", "at": "/is_new", "is": True}),
        ({"step": "S1", "at": "/count", "operator": ">", "value": 3},
         {"step": "S1", "at": "/count", "over": 3}),
        ({"and": ["S1.is_new", {"step": "S1", "at": "/count", "gt": 3}]}, {"all": [
            {"step": "S1", "at": "/is_new", "is": True}, {"step": "S1", "at": "/count", "over": 3},
        ]}),
    ],
)  # fmt: skip
def test_a_condition_is_read_as_it_is_meant(when: Any, meant: dict[str, Any]) -> None:
    step = second(prompt="Go on.", when=when)
    assert step.when == Condition.model_validate(meant)


def test_a_condition_without_a_step_is_on_the_only_one_that_is_read() -> None:
    step = second(prompt="Go on.", depends_on=[1], when={"at": "/kind", "is": "bug"})
    assert step.when == Condition.model_validate({"step": "S1", "at": "/kind", "is": "bug"})


@pytest.mark.parametrize(
    "when",
    ["S1.kind", "it is a bug", "S1.kind == S1.count", "len(S1.papers) > 3", "__import__('os')"],
)
def test_a_text_that_is_no_condition_is_refused_with_the_form_that_is_due(when: str) -> None:
    with pytest.raises(PlanError, match=r"assignment 2: when is .*write it as an object") as caught:
        second(prompt="Go on.", when=when)
    assert "Value error" not in str(caught.value)


def test_what_chooses_items_is_read_as_it_is_meant() -> None:
    step = second(
        for_each={
            "items": "S1",
            "at": "papers",
            "filter": "item.year >= 2020 and is_open",
            "unique_by": "item.pdfUrl",
            "limit": "30",
            "too_many": "First",
        }
    )
    since = {"any": [{"at": "/year", "over": 2020}, {"at": "/year", "is": 2020}]}
    assert step.for_each == ForEach.model_validate(
        {
            "items": "S1",
            "at": "/papers",
            "where": {"all": [since, {"at": "/is_open", "is": True}]},
            "key": "/pdf_url",
            "max_items": 30,
            "too_many": "first",
        }
    )


PROBLEMS = {
    "kind": "json",
    "json_schema": {
        "type": "object",
        "properties": {
            "problems": {"type": "array", "items": {"properties": {"name": {"type": "string"}}}},
            "done": {"type": "boolean"},
        },
    },
}


@pytest.mark.parametrize(
    ("repeat", "meant"),
    [
        ({"until": "problems == []"}, {"until": {"at": "/problems", "is": []}}),
        ({"until": "len(output.problems) == 0"}, {"until": {"at": "/problems", "empty": True}}),
        ({"until": "S2.done == true", "max_iterations": 3},
         {"until": {"at": "/done", "is": True}, "max_rounds": 3}),
        ({"until": {"step": "S2", "at": "done", "is": "true"}},
         {"until": {"at": "/done", "is": True}}),
        ({"until": "no new items", "key": "name"},
         {"until": "no_new_items", "at": "/problems", "key": "/name"}),
        ({"until": "no_new_items", "at": "problems[*]"},
         {"until": "no_new_items", "at": "/problems"}),
    ],
)  # fmt: skip
def test_how_a_step_is_repeated_is_read_as_it_is_meant(repeat: Any, meant: Any) -> None:
    step = second(prompt="Look.", output=PROBLEMS, repeat=repeat)
    assert step.repeat == Repeat.model_validate(meant)


def test_an_end_beside_the_prompt_makes_a_repetition() -> None:
    step = second(prompt="Look.", output=PROBLEMS, until="done", max_iterations=4)
    assert step.repeat == Repeat.model_validate(
        {"until": {"at": "/done", "is": True}, "max_rounds": 4}
    )


def test_a_step_over_one_that_is_for_each_follows_it_though_a_pointer_is_left_blank() -> None:
    plan = read(
        FINDER,
        {**READER, "for_each": "S1.papers"},
        {"agent": "Finder", "prompt": "Judge {{item.title}}.", "for_each": {"items": 2, "at": ""}},
    ).plan
    assert plan.steps[2].for_each == ForEach(items="S2")
    assert plan.steps[2].prompt == "Judge {item.title}."


def test_a_plan_inside_may_be_written_with_ids_and_other_names() -> None:
    inner = {
        "agents": [{"name": "Checker", "system_prompt": "You check."}],
        "steps": [
            {"id": "claims", "agent": "reader", "prompt": "List the claims of {{item.title}}."},
            {"id": "check", "agent": "checker", "prompt": "Check.", "depends_on": ["claims"]},
        ],
        "final_step": "check",
    }
    step = read(FINDER, {"for_each": "S1.papers", "plan": inner}).plan.steps[1]
    assert step.plan is not None
    assert [each.agent for each in step.plan.steps] == ["Reader", "Checker"]
    assert step.plan.steps[0].prompt == "List the claims of {item.title}."
    assert step.plan.steps[1].depends_on == ("S1",)
    assert step.plan.final_step == "S2"


def test_assignments_may_be_named() -> None:
    plan = read(
        {"id": "find", **FINDER},
        {"id": "read", **READER, "for_each": {"items": "find", "at": "/papers"}},
        {"id": "join", "agent": "Finder", "prompt": "Compare.", "depends_on": ["read"]},
    ).plan
    assert plan.steps[1].for_each == ForEach(items="S1", at="/papers")
    assert plan.steps[2].depends_on == ("S2",)


def test_who_reviews_and_who_judges_may_be_a_name_in_another_case() -> None:
    step = second(for_each="S1.papers", review="reader", best_of={"n": 3, "judge": "finder"})
    assert step.review == Review(agent="Reader")
    assert step.best_of == BestOf(samples=3, judge="Finder")
    step = second(
        for_each="S1.papers", review={"reviewer": "Reader", "votes": "3", "pass": 2}, best_of=2
    )
    assert step.review == Review.model_validate({"agent": "Reader", "votes": 3, "pass": 2})
    assert step.best_of == BestOf(samples=2)


def test_a_step_that_joins_needs_no_agent() -> None:
    plan = read(
        FINDER, {**READER, "for_each": "S1.papers"}, {"collect": "table", "depends_on": [2]}
    )
    assert (plan.plan.steps[2].collect, plan.plan.steps[2].agent) == ("table", "")


def test_each_other_reading_is_noted() -> None:
    found = read(FINDER, {**READER, "prompt": "Read {{item.title}}.", "loop_over": "S1.papers"})
    assert found.mended == (
        "assign_task[1].for_each: written as 'loop_over'",
        "assign_task[1].for_each: its items made an object",
        "assign_task[1].for_each.items: 'S1.papers' read as S1",
        "assign_task[1].prompt: places for an item written as {item.name}",
    )


def test_a_plan_as_it_is_asked_for_is_taken_word_for_word() -> None:
    for_each = {
        "items": "S1",
        "at": "/papers",
        "key": "/pdf_url",
        "where": {"at": "/year", "over": 1},
    }
    when = {"step": "S1", "at": "/kind", "is": "bug"}
    assert read(FINDER, {**READER, "for_each": for_each, "when": when}).mended == ()


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"for_each": "S1.articles"}, "there is no /articles; it has papers, kind, count, is_new; "
                                      "`at` may be /papers"),
        ({"prompt": "Read {item.abstract}", "for_each": "S1.papers"},
         "the prompt names {item.abstract}, and in an item there is no /abstract; it has title"),
        ({"for_each": {"items": "S1", "at": "/papers", "key": "/doi"}},
         "tells items apart by key /doi, and in an item there is no /doi"),
        ({"for_each": {"items": "S1", "at": "/papers", "where": {"at": "/doi", "empty": False}}},
         "has a condition `where` on /doi, and there is no /doi"),
        ({"prompt": "Go on.", "when": "S1.sort == 'bug'"},
         "has a condition `when` on /sort of S1, and there is no /sort"),
        ({"prompt": "Go on.", "when": "S1.kind == 'crash'"}, "/kind of S1 is 'bug' or 'idea'"),
        ({}, "step S2 names {item.title} in its prompt, and is done once: give it for_each"),
        ({"for_each": "S7.papers"}, "has its items from S7, which is not a step of the plan"),
        ({"for_each": "b.csv"}, "neither an earlier step nor an input; the inputs are: a.csv"),
        ({"for_each": "S1.papers[*].authors"}, "there is no"),
    ],
)  # fmt: skip
def test_what_leads_to_nothing_is_said_such_that_it_can_be_repaired(
    changes: dict[str, Any], problem: str
) -> None:
    with pytest.raises(PlanError) as caught:
        second(**changes)
    assert problem in str(caught.value)
