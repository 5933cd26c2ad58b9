"""The complete steps of a cut plan are the first steps of the whole plan."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.plan.task_ir import PlanRules, TaskIR
from prefect_swarm.tasks.planner.partial import PlanText, plan_so_far
from prefect_swarm.tasks.planner.planned import WrittenPlan

OBJECTIVE = "Compare things"
TEXTS = st.text(st.sampled_from('ab {}[]"\\:,é\n'), min_size=1, max_size=12).map(lambda t: f"x{t}")
FORMS: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    [
        {},
        {"output": {"kind": "text", "sections": ["A", "B"]}},
        {"output": {"kind": "python", "examples": [{"call": "f(1)", "gives": "[2]"}]}},
        {"output": {"kind": "json", "json_schema": '{"type": "object"}'}, "gates": None},
    ]
)


@st.composite
def plans(draw: st.DrawFn) -> dict[str, Any]:
    """Plans as a model writes them, all of them valid."""
    names = [f"Agent {n}" for n in range(draw(st.integers(1, 3)))]
    agents = [{"name": name, "system_prompt": draw(TEXTS)} for name in names]
    tasks: list[dict[str, Any]] = []
    for number in range(1, draw(st.integers(1, 5)) + 1):
        earlier = st.lists(st.integers(1, number - 1), unique=True) if number > 1 else st.just([])
        needs = draw(earlier)
        prompt = f"{number} {draw(TEXTS)}"
        agent = draw(st.sampled_from(names))
        tasks.append({"agent": agent, "prompt": prompt, "depends_on": needs, **draw(FORMS)})
    return {"create_subagent": agents, "assign_task": tasks}


def read(text: str, rules: PlanRules | None = None) -> TaskIR | None:
    written = PlanText()
    written.add(text)
    return plan_so_far(written, OBJECTIVE, rules)


@given(plans(), st.sampled_from([None, 1]), st.sampled_from(["", "```json\n"]), st.data())
def test_every_cut_gives_steps_that_the_whole_plan_begins_with(
    plan: dict[str, Any], indent: int | None, before: str, data: st.DataObject
) -> None:
    text = before + json.dumps(plan, indent=indent, ensure_ascii=False)
    whole = WrittenPlan.model_validate(plan).plan(OBJECTIVE).steps
    found = read(text[: data.draw(st.integers(0, len(text)))])
    steps = found.steps if found else ()
    assert steps == whole[: len(steps)]


@given(plans(), st.integers(1, 9))
def test_the_last_step_is_there_as_soon_as_it_is_closed(plan: dict[str, Any], size: int) -> None:
    text = json.dumps(plan)
    written, counts = PlanText(), [0]
    for start in range(0, len(text), size):
        if written.add(text[start : start + size]):
            found = plan_so_far(written, OBJECTIVE)
            counts.append(len(found.steps) if found else 0)
    assert counts == sorted(counts)
    assert counts[-1] == len(plan["assign_task"])


def test_a_step_that_is_not_closed_is_none() -> None:
    agents = '{"create_subagent": [{"name": "A", "system_prompt": "s"}], "assign_task": ['
    assert read(agents + '{"agent": "A", "prompt": "Describe tea"') is None
    found = read(agents + '{"agent": "A", "prompt": "Describe tea"}')
    assert found is not None
    assert [step.prompt for step in found.steps] == ["Describe tea"]


def test_a_step_that_breaks_a_rule_ends_what_is_found() -> None:
    tasks = [
        {"agent": "A", "prompt": "Describe tea"},
        {"agent": "Nobody", "prompt": "Describe coffee"},
        {"agent": "A", "prompt": "Describe water"},
    ]
    agents = [{"name": "A", "system_prompt": "s"}]
    found = read(json.dumps({"create_subagent": agents, "assign_task": tasks}))
    assert found is not None
    assert [step.prompt for step in found.steps] == ["Describe tea"]


def test_the_rules_of_the_run_hold() -> None:
    plan = {
        "create_subagent": [{"name": "A", "system_prompt": "s"}],
        "assign_task": [{"agent": "A", "prompt": f"Describe {n}"} for n in range(4)],
    }
    found = read(json.dumps(plan), PlanRules(max_steps=2))
    assert found is not None
    assert len(found.steps) == 2


def test_text_that_is_no_plan_is_none() -> None:
    for text in ("", "1. Tea Expert: Describe tea", "{[}{]{{}}}}", '{"a": [{"b": 1}]}', "[1]"):
        assert read(text) is None
