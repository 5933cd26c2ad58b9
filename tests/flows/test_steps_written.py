"""Of which steps a person wrote who does them."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from prefect_swarm.flows.plan_changes import steps_written
from prefect_swarm.plan.task_ir import TaskIR, parse_plan
from prefect_swarm.store.result import Planning
from prefect_swarm.tasks.planner.task import Planned


def plan(**agents_of: str) -> TaskIR:
    names = {"S1": "Reader", "S2": "Writer", **agents_of}
    created: list[dict[str, Any]] = [
        {"name": name, "system_prompt": f"You are a {name}."} for name in {*names.values()}
    ]
    steps = [{"id": id_, "agent": name, "prompt": f"do {id_}"} for id_, name in names.items()]
    return parse_plan({"objective": "x", "agents": created, "steps": steps})


@pytest.mark.parametrize("source", ["user", "fork"])
def test_a_persons_plan_names_all_its_agents(source: Literal["user", "fork"]) -> None:
    planned = Planned(plan=plan(), planning=Planning(source=source))
    assert steps_written(planned, planned.plan) == {"S1", "S2"}


def test_a_models_plan_names_none() -> None:
    planned = Planned(plan=plan(), planning=Planning(source="orchestrator"))
    assert steps_written(planned, planned.plan) == frozenset()


def test_an_edit_names_the_agents_that_it_changes() -> None:
    planned = Planned(plan=plan(), planning=Planning(source="orchestrator"))
    assert steps_written(planned, plan(S2="Reader", S3="Writer")) == {"S2", "S3"}


def test_an_edited_system_prompt_is_a_persons() -> None:
    planned = Planned(plan=plan(), planning=Planning(source="orchestrator"))
    text = planned.plan.model_dump_json().replace("You are a Writer.", "You write.")
    assert steps_written(planned, parse_plan(text)) == {"S2"}
