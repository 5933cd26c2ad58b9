from __future__ import annotations

from typing import Any

import pytest
from flow_runs import plan_of
from prefect_swarm.errors import PlanError
from prefect_swarm.plan.compile import compile_plan
from prefect_swarm.plan.digests import step_digests
from prefect_swarm.plan.parts import part_of_plan
from prefect_swarm.plan.rules import PlanRules
from prefect_swarm.plan.task_ir import parse_plan

INNER = [
    {"id": "S1", "agent": "Reader", "prompt": "inner one"},
    {"id": "S2", "agent": "Reader", "prompt": "inner two", "depends_on": ["S1"]},
]
PLAN: dict[str, Any] = {"agent": "", "prompt": "", "plan": {"steps": INNER}}
STEPS: list[dict[str, Any]] = [
    {"id": "S1", "output": {"kind": "json"}},
    {"id": "S2", "depends_on": ["S1"], "approval": True},
    {"id": "S3", "prompt": "{item}", "for_each": {"items": "S1"}, "pool": "gpu"},
    {"id": "S4"},
    {"id": "S5", **PLAN, "depends_on": ["S2", "S3"], "pool": "gpu", "optional": True},
    {"id": "S6", "depends_on": ["S5"]},
]


def test_a_part_has_the_step_and_all_that_it_needs_and_nothing_else() -> None:
    plan = plan_of(*STEPS)
    assert [step.id for step in part_of_plan(plan, "S3").steps] == ["S1", "S3"]
    part = part_of_plan(plan, "S5")
    assert [step.id for step in part.steps] == ["S1", "S2", "S3", "S5"]
    assert part.final_step == "S5"
    assert not any(step.pool or step.approval for step in part.steps)
    assert {step.id for step in part.steps if step.optional} == {"S1", "S2", "S3"}


def test_the_steps_of_a_part_are_asked_for_what_the_plan_asks_for() -> None:
    plan = plan_of(*STEPS, inputs={"text": "An input."}, constraints=["Be brief."])
    whole = step_digests(compile_plan(plan))
    for name in ("S3", "S5"):
        part = step_digests(compile_plan(part_of_plan(plan, name)))
        assert part == {step: whole[step] for step in part}


def test_a_condition_was_decided_before_and_what_it_looks_at_is_not_needed() -> None:
    when = {"step": "S4", "is": "yes"}
    part = part_of_plan(plan_of(STEPS[0], STEPS[3], {**STEPS[2], "when": when}), "S3")
    assert [step.id for step in part.steps] == ["S1", "S3"]
    assert part.steps[-1].when is None


def test_instances_of_a_part_are_asked_about_and_a_plan_was() -> None:
    plan = plan_of(STEPS[0], {**STEPS[2], "approval": True}, {"id": "S5", **PLAN, "approval": True})
    assert part_of_plan(plan, "S3").steps[-1].approval
    assert not part_of_plan(plan, "S5").steps[-1].approval


def test_a_pool_is_for_a_step_with_members_that_stands_in_no_other_one() -> None:
    with pytest.raises(PlanError, match=r"S1 has the pool 'gpu', but neither a plan nor for_each"):
        plan_of({"id": "S1", "pool": "gpu"})
    inner = {**INNER[0], "for_each": {"items": ["a", "b"]}, "prompt": "{item}", "pool": "gpu"}
    with pytest.raises(PlanError, match=r"S1\.S1 has the pool 'gpu' and is inside another step"):
        plan_of({"id": "S1", **PLAN, "plan": {"steps": [inner]}})


def fixer(name: str) -> dict[str, Any]:
    return {"name": name, "system_prompt": "You mend.", "tools": ["workspace"]}


MEND = {"id": "S1", "prompt": "mend it"}


@pytest.mark.parametrize(
    "inner",
    [
        {**MEND, "agent": "Reader", "output": {"kind": "patch"}},
        {**MEND, "agent": "Fixer"},
        {"id": "S1", "plan": {"agents": [fixer("Inner")], "steps": [{**MEND, "agent": "Inner"}]}},
    ],
)
def test_what_works_on_the_workspace_is_not_done_on_a_pool(inner: dict[str, Any]) -> None:
    agents = [{"name": "Reader", "system_prompt": "You read."}, fixer("Fixer")]
    step = {"id": "S1", "plan": {"steps": [inner]}, "pool": "gpu"}
    rules = PlanRules(toolsets=frozenset({"workspace"}))
    with pytest.raises(PlanError, match="S1 is done on a work pool, and the workspace is where"):
        parse_plan({"objective": "Mend", "agents": agents, "steps": [step]}, rules)


def test_a_step_on_a_pool_waits_for_the_end_of_the_one_that_it_follows() -> None:
    followed = {"id": "S1", "prompt": "{item}", "for_each": {"items": ["a", "b"]}}
    follower = {"id": "S2", "for_each": {"items": "S1"}}
    here = compile_plan(plan_of(followed, follower))
    there = compile_plan(plan_of(followed, {**follower, "pool": "gpu"}))
    assert here.step("S2").waits_for == ()
    assert there.step("S2").waits_for == ("S1",)
    assert step_digests(here) == step_digests(there)
