"""The steps of a plan that stay when another one replaces it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from flow_runs import plan_of
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.flows.plan_changes import read_compiled, unchanged_steps
from prefect_swarm.plan.compile import CompiledPlan, compile_plan
from prefect_swarm.plan.digests import step_digests
from prefect_swarm.plan.task_ir import parse_plan

STEPS: tuple[dict[str, Any], ...] = (
    {"id": "S1"},
    {"id": "S2"},
    {"id": "S3", "depends_on": ["S1"]},
    {"id": "S4", "depends_on": ["S3", "S2"]},
    {"id": "S5", "inputs": ["notes"]},
)
ALL = ("S1", "S2", "S3", "S4", "S5")


def plan(changed: str = "", note: str = "a note", agent: str = "", **change: Any) -> CompiledPlan:
    steps = [{**step, **change} if step["id"] == changed else step for step in STEPS]
    ir = plan_of(*steps, inputs={"notes": note})
    if agent:
        data = ir.model_dump(mode="json")
        data["agents"][0]["system_prompt"] = agent
        ir = parse_plan(data)
    return compile_plan(ir)


def test_the_same_plan_keeps_all_that_is_finished_and_nothing_else() -> None:
    assert unchanged_steps(plan(), plan(), ("S1", "S3")) == {"S1", "S3"}


@pytest.mark.parametrize(
    ("changed", "change", "kept"),
    [
        ("S4", {"prompt": "another"}, "S1 S2 S3 S5"),
        ("S1", {"prompt": "another"}, "S2 S5"),
        ("S2", {"output": {"kind": "json"}}, "S1 S3 S5"),
        ("S3", {"gates": ["+min_words"]}, "S1 S2 S5"),
        ("S3", {"depends_on": ["S2"]}, "S1 S2 S5"),
        ("S3", {"depends_on": []}, "S1 S2 S5"),
        ("S2", {"inputs": ["notes"]}, "S1 S2 S3 S4 S5"),
        ("S3", {"inputs": ["notes"]}, "S1 S2 S5"),
        ("S3", {"timeout_s": 9, "optional": True, "model": "x"}, "S1 S2 S3 S4 S5"),
        ("S3", {"approval": True}, "S1 S2 S3 S4 S5"),
    ],
)
def test_a_changed_step_is_done_anew_with_all_that_reads_it(
    changed: str, change: dict[str, Any], kept: str
) -> None:
    assert unchanged_steps(plan(), plan(changed, **change), ALL) == set(kept.split())


def test_other_instructions_change_every_step_of_the_agent() -> None:
    assert unchanged_steps(plan(), plan(agent="You skim."), ALL) == frozenset()


def test_a_changed_input_changes_the_steps_that_read_it() -> None:
    # S1 and S2 need no other step, so that they read all inputs.
    assert unchanged_steps(plan(), plan(note="another"), ALL) == frozenset()
    only = ({"id": "S1", "inputs": []}, {"id": "S2", "inputs": ["notes"]})
    before, after = (
        compile_plan(plan_of(*only, inputs={"notes": text})) for text in ("a note", "another")
    )
    assert unchanged_steps(before, after, ("S1", "S2")) == {"S1"}


def test_a_step_that_the_new_plan_lacks_is_not_kept() -> None:
    assert unchanged_steps(plan(), compile_plan(plan_of(*STEPS[:2])), ALL) == frozenset()


@given(st.permutations(ALL), st.sampled_from(ALL))
def test_nothing_downstream_of_a_change_is_kept(finished: list[str], changed: str) -> None:
    kept = unchanged_steps(plan(), plan(changed, prompt="another"), finished)
    by_id = {step.id: step for step in plan().steps}
    assert changed not in kept
    assert all(set(by_id[name].upstream) <= kept for name in kept)


def test_a_stored_plan_is_read_as_it_was() -> None:
    written = json.loads(json.dumps(plan("S2", output={"kind": "json", "schema": {}}).to_json()))
    read = read_compiled(written)
    assert read == plan("S2", output={"kind": "json", "schema": {}})
    assert read is not None
    assert step_digests(read) == step_digests(plan("S2", output={"kind": "json", "schema": {}}))


@pytest.mark.parametrize("data", [{}, {"steps": 3}, {"objective": "x", "steps": [{"id": "S1"}]}])
def test_what_is_no_plan_is_none(data: dict[str, Any]) -> None:
    assert read_compiled(data) is None


def test_priorities_and_names_do_not_count() -> None:
    before = plan()
    after = replace(
        before, steps=tuple(replace(s, priority=9.0, agent="B", tier="coder") for s in before.steps)
    )
    assert unchanged_steps(before, after, ALL) == set(ALL)
