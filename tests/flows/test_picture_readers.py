"""Which steps read pictures, and whose models take none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from flow_runs import plan_of
from picture_files import picture_bytes
from prefect_swarm.errors import InputError, ModelError
from prefect_swarm.flows.options import SwarmOptions
from prefect_swarm.flows.picture_readers import check_any_reader, check_readers
from prefect_swarm.flows.run_inputs import with_inputs
from prefect_swarm.inputs.pictures import Picture, picture_text
from prefect_swarm.models.names import Profile
from prefect_swarm.plan.compile import compile_plan
from prefect_swarm.plan.task_ir import TaskIR, parse_plan

SHOT = picture_text(Picture("image/png", 40, 20, picture_bytes()))
GIVEN = {"shot.png": SHOT, "note": "hello"}
OPTIONS = SwarmOptions(model="blind", architect="sees")
ALL_BLIND = SwarmOptions(model="blind")


def profile(name: str) -> Profile:
    return Profile(takes_pictures=name == "sees")


def problem_of(plan: TaskIR, inputs: Mapping[str, str], options: SwarmOptions = OPTIONS) -> str:
    """What is wrong with a plan that has these inputs; "" if nothing is."""
    compiled = compile_plan(with_inputs(plan, inputs))
    try:
        check_readers(compiled, options, profile)
    except (InputError, ModelError) as error:
        return error.problem
    return ""


def checked(*steps: dict[str, Any], **fields: Any) -> str:
    """What is wrong with a plan whose inputs are a picture and a text."""
    return problem_of(plan_of(*steps, **fields), GIVEN)


def test_a_step_without_needs_reads_all_inputs_so_the_picture_too() -> None:
    problem = checked({"id": "S1"})
    assert problem == (
        "Step S1 reads the picture shot.png, and the model of tier worker, blind, takes no "
        "pictures."
    )


def test_a_step_that_names_other_inputs_or_reads_outputs_reads_none() -> None:
    after = {"id": "S2", "depends_on": ["S1"]}
    assert checked({"id": "S1", "inputs": ["note"]}, after) == ""
    assert "Step S2" in checked({"id": "S1", "inputs": []}, {**after, "inputs": ["shot.png"]})


def test_the_model_of_the_steps_own_tier_counts() -> None:
    agents = [{"name": "Reader", "system_prompt": "You read.", "tier": "architect"}]
    assert checked({"id": "S1"}, agents=agents) == ""


def test_a_reviewer_is_shown_what_the_step_is_shown() -> None:
    agents = [
        {"name": "Reader", "system_prompt": "You read.", "tier": "architect"},
        {"name": "Critic", "system_prompt": "You doubt.", "tier": "worker"},
    ]
    problem = checked({"id": "S1", "review": {"agent": "Critic"}}, agents=agents)
    assert "the model of its reviewers, tier worker, blind" in problem


def test_the_picture_that_is_an_item_is_read() -> None:
    each = {"id": "S1", "for_each": {"items": "*.png"}, "prompt": "See {item}", "inputs": []}
    assert "Step S1 reads the picture shot.png" in checked(each)


def test_a_step_inside_another_reads_what_that_reads() -> None:
    def nested(**fields: Any) -> TaskIR:
        steps = [{"id": "S1", "agent": "Reader", "prompt": "look", **fields}]
        agents = [{"name": "Reader", "system_prompt": "You look."}]
        step = {"id": "S1", "plan": {"steps": steps}}
        return parse_plan({"objective": "Look", "agents": agents, "steps": [step]})

    assert "reads the picture shot.png" in problem_of(nested(), GIVEN)
    assert problem_of(nested(inputs=["note"]), GIVEN) == ""


def test_without_pictures_no_model_is_looked_at() -> None:
    assert problem_of(plan_of({"id": "S1"}), {"note": "hello"}, ALL_BLIND) == ""


def test_more_pictures_than_a_request_may_have_are_an_error() -> None:
    inputs = {f"p{n}.png": SHOT for n in range(101)}
    sees = SwarmOptions(model="sees")
    assert "Step S1 reads 101 pictures" in problem_of(plan_of({"id": "S1"}), inputs, sees)
    each = {"id": "S1", "for_each": {"items": "*", "max_items": 200}, "prompt": "See {item}"}
    assert problem_of(plan_of(each), inputs, sees) == ""


def test_before_there_is_a_plan_one_tier_has_to_take_pictures() -> None:
    check_any_reader({"shot.png": SHOT}, OPTIONS, profile)
    check_any_reader({"note": "hello"}, ALL_BLIND, profile)
    with pytest.raises(ModelError, match=r"given the picture shot\.png"):
        check_any_reader({"shot.png": SHOT}, ALL_BLIND, profile)
