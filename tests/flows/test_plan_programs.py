"""Plans that depend on what is found: for each, when, repeat, a plan inside a step."""

from __future__ import annotations

import json
from typing import Any

import pytest
from flow_runs import run, task_runs
from prefect_swarm.plan.task_ir import TaskIR
from prefect_swarm.store.result import SwarmResult
from quoted_texts import without_marks
from scripted import Script, scripted

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home")

PAPERS = [{"title": f"Paper {name}", "url": f"https://x.org/{name}"} for name in "abc"]
LIST = {"kind": "json", "schema": {"type": "object"}}


def plan_of(*steps: dict[str, Any], **fields: Any) -> TaskIR:
    """A plan whose steps are done by a reader unless they say otherwise."""
    full: list[dict[str, Any]] = []
    for step in steps:
        work = {} if "plan" in step or "collect" in step else {"agent": "Reader"}
        full.append({**work, **({"prompt": f"do {step['id']}"} if work else {}), **step})
    agents = [{"name": "Reader", "system_prompt": "You read closely."}]
    return TaskIR.model_validate(
        {"objective": "Find out", "agents": agents, "steps": full, **fields}
    )


def found(prompt: str) -> str:
    return json.dumps({"papers": PAPERS}) if "do S1" in prompt else f"<{prompt.split()[-1]}>"


def statuses(result: SwarmResult) -> dict[str, str]:
    return {step.id: step.status for step in result.steps}


def test_a_step_is_done_for_each_item_that_an_earlier_one_found() -> None:
    plan = plan_of(
        {"id": "S1", "output": LIST},
        {"id": "S2", "prompt": "Read {item.title}", "for_each": {"items": "S1", "at": "/papers"}},
        {"id": "S3", "depends_on": ["S2"]},
        final_step="S3",
    )
    with scripted(Script(found)) as script:
        result = run(plan)
    assert result.status == "completed"
    assert statuses(result) == dict.fromkeys(
        ["S1", "S2", "S2[1]", "S2[2]", "S2[3]", "S3"], "succeeded"
    )
    prompts = [without_marks(prompt) for prompt in script.prompts]
    for name in "abc":
        assert f"Read “Paper {name}”" in prompts
    joined = next(prompt for prompt in prompts if "do S3" in prompt)
    assert "Result of S2[2] (Reader), Paper b:" in joined
    names = task_runs(result.flow_run_id, least=9)
    assert "S2[3] · Reader · attempt 1" in names


def test_a_step_that_follows_another_begins_with_its_item() -> None:
    plan = plan_of(
        {"id": "S1", "output": LIST},
        {"id": "S2", "prompt": "Read {item.title}", "for_each": {"items": "S1", "at": "/papers"}},
        {"id": "S3", "prompt": "Judge {item.title}", "for_each": {"items": "S2"}},
    )
    with scripted(Script(found)) as script:
        result = run(plan)
    assert statuses(result)["S3"] == "succeeded"
    judged = [without_marks(prompt) for prompt in script.prompts if "Judge" in prompt]
    assert sorted(judged)[0] == ("Result of S2[1] (Reader), Paper a:\n<a”>\n\nJudge “Paper a”")


def test_no_items_are_no_failure() -> None:
    plan = plan_of(
        {"id": "S1", "output": LIST},
        {"id": "S2", "for_each": {"items": "S1", "at": "/papers"}},
        {"id": "S3", "depends_on": ["S1", "S2"]},
        final_step="S3",
    )
    with scripted(Script(lambda prompt: '{"papers": []}' if "do S1" in prompt else "done")):
        result = run(plan)
    assert result.status == "completed"
    assert result.answer == "done"


def test_what_is_no_list_is_an_error_that_names_the_place() -> None:
    plan = plan_of(
        {"id": "S1", "output": LIST},
        {"id": "S2", "for_each": {"items": "S1", "at": "/articles"}},
    )
    with scripted(Script(found)):
        result = run(plan)
    assert statuses(result)["S2"] == "failed"
    assert "/articles" in result.problem
    assert "papers" in result.problem


def test_a_step_whose_condition_does_not_hold_is_skipped_and_the_run_completes() -> None:
    plan = plan_of(
        {"id": "S1", "output": LIST},
        {"id": "S2", "when": {"step": "S1", "at": "/kind", "is": "bug"}},
        {"id": "S3", "when": {"step": "S1", "at": "/kind", "is_not": "bug"}},
        {"id": "S4", "depends_on": ["S2"]},
        {"id": "S5", "depends_on": ["S2", "S3"]},
        final_step="S5",
    )
    with scripted(Script(lambda prompt: '{"kind": "idea"}' if "do S1" in prompt else "done")):
        result = run(plan)
    assert result.status == "completed"
    assert statuses(result) == {
        "S1": "succeeded",
        "S2": "skipped",
        "S3": "succeeded",
        "S4": "skipped",
        "S5": "succeeded",
    }


def test_a_step_is_repeated_until_its_condition_holds() -> None:
    plan = plan_of(
        {
            "id": "S1",
            "prompt": "Look once more, round {round}",
            "output": LIST,
            "repeat": {"until": {"at": "/problems", "empty": True}},
        },
    )
    replies = iter([["a", "b"], ["a"], []])
    with scripted(Script(lambda _: json.dumps({"problems": next(replies)}))) as script:
        result = run(plan)
    assert result.status == "completed"
    assert [step.id for step in result.steps] == ["S1", "S1r1", "S1r2", "S1r3"]
    assert "round 3" in script.prompts[-1]
    assert "Result of S1r2" in script.prompts[-1]


def test_a_plan_inside_a_step_gives_the_output_of_its_last_step() -> None:
    inner = {
        "steps": [
            {"id": "S1", "agent": "Reader", "prompt": "Read {item}"},
            {"id": "S2", "agent": "Reader", "prompt": "Sum up", "depends_on": ["S1"]},
        ]
    }
    plan = plan_of(
        {"id": "S1", "for_each": {"items": ["a", "b"]}, "plan": inner},
        {"id": "S2", "depends_on": ["S1"]},
        final_step="S2",
    )
    with scripted(Script(lambda prompt: f"<{prompt.split()[-1]}>")) as script:
        result = run(plan)
    assert result.status == "completed"
    assert "S1[2].S2" in statuses(result)
    assert "Read b" in [without_marks(prompt) for prompt in script.prompts]
    last = without_marks(script.prompts[-1])
    assert "Result of S1[1] (Reader), a:\n<up>" in last
