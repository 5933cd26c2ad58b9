"""Plans of strong models are taken word for word."""

from __future__ import annotations

import json
from typing import Any

import pytest
from prefect_swarm.plan.task_ir import TaskIR
from prefect_swarm.tasks.planner.planned import WrittenPlan
from recorded_plans import RecordedPlan, recorded_plans

PLANS = recorded_plans()

each_plan = pytest.mark.parametrize("recorded", PLANS, ids=lambda recorded: recorded.name)


def valid(recorded: RecordedPlan) -> TaskIR:
    return WrittenPlan.model_validate(recorded.plan).plan(recorded.objective)


def tasks_of(recorded: RecordedPlan) -> list[dict[str, Any]]:
    return recorded.plan["assign_task"]


def shape_of(recorded: RecordedPlan) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(task["depends_on"]) for task in tasks_of(recorded))


def test_there_are_twelve_plans() -> None:
    assert len(PLANS) == 12


@each_plan
def test_a_recorded_plan_has_4_to_12_steps(recorded: RecordedPlan) -> None:
    assert 4 <= len(tasks_of(recorded)) <= 12


@each_plan
def test_every_prompt_has_50_to_200_words(recorded: RecordedPlan) -> None:
    words = [len(task["prompt"].split()) for task in tasks_of(recorded)]
    assert [count for count in words if not 50 <= count <= 200] == []


@each_plan
def test_every_system_prompt_has_20_to_60_words(recorded: RecordedPlan) -> None:
    agents = recorded.plan["create_subagent"]
    words = [len(agent["system_prompt"].split()) for agent in agents]
    assert [count for count in words if not 20 <= count <= 60] == []


def test_every_recorded_plan_has_a_shape_of_its_own() -> None:
    assert len({shape_of(recorded) for recorded in PLANS}) == len(PLANS)


@each_plan
def test_answers_are_for_steps_of_the_plan(recorded: RecordedPlan) -> None:
    assert recorded.answers.keys() <= {step.id for step in valid(recorded).steps}


@each_plan
def test_the_objective_is_kept_word_for_word(recorded: RecordedPlan) -> None:
    assert valid(recorded).objective == recorded.objective


@each_plan
def test_every_subagent_is_kept_word_for_word(recorded: RecordedPlan) -> None:
    agents = [agent.model_dump(exclude={"tools"}) for agent in valid(recorded).agents]
    assert agents == recorded.plan["create_subagent"]


@each_plan
def test_every_prompt_is_kept_word_for_word(recorded: RecordedPlan) -> None:
    kept = [(step.agent, step.prompt) for step in valid(recorded).steps]
    assert kept == [(task["agent"], task["prompt"]) for task in tasks_of(recorded)]


@each_plan
def test_every_dependency_is_kept(recorded: RecordedPlan) -> None:
    kept = [step.depends_on for step in valid(recorded).steps]
    assert kept == [tuple(f"S{number}" for number in needs) for needs in shape_of(recorded)]


@each_plan
def test_every_output_is_kept(recorded: RecordedPlan) -> None:
    kept = [
        (step.output.kind, step.output.json_schema, list(step.output.sections))
        for step in valid(recorded).steps
    ]
    assert kept == [expected_output(task["output"]) for task in tasks_of(recorded)]


@each_plan
def test_the_choice_of_gates_is_kept(recorded: RecordedPlan) -> None:
    kept = [None if step.gates is None else [*step.gates] for step in valid(recorded).steps]
    assert kept == [task["gates"] for task in tasks_of(recorded)]


def expected_output(output: dict[str, Any]) -> tuple[str, Any, list[str]]:
    schema = json.loads(output.get("json_schema", "null"))
    return output["kind"], schema, output.get("sections", [])
