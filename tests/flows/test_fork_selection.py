"""The finished steps that a fork takes over."""

from __future__ import annotations

from typing import Any

import pytest
from flow_runs import plan_of
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.errors import InputError
from prefect_swarm.flows.fork import ForkSource, check_choice, steps_taken_over
from prefect_swarm.flows.plan_changes import without_rebuilt
from prefect_swarm.plan.compile import compile_plan
from prefect_swarm.plan.digests import step_digests
from prefect_swarm.plan.task_ir import TaskIR

STEPS: tuple[dict[str, Any], ...] = (
    {"id": "S1"},
    {"id": "S2"},
    {"id": "S3", "depends_on": ["S1"]},
    {"id": "S4", "depends_on": ["S3", "S2"]},
)
ALL = ("S1", "S2", "S3", "S4")
PLAN = plan_of(*STEPS)


def changed(step: str, **change: Any) -> TaskIR:
    return plan_of(*({**s, **change} if s["id"] == step else s for s in STEPS))


def test_what_is_finished_and_unchanged_is_taken_over() -> None:
    assert steps_taken_over(PLAN, PLAN, ALL) == ALL
    assert steps_taken_over(PLAN, PLAN, ("S1", "S2")) == ("S1", "S2")
    assert steps_taken_over(PLAN, changed("S3", prompt="another"), ALL) == ("S1", "S2")


def test_a_named_step_is_done_anew_with_all_that_depend_on_it() -> None:
    assert steps_taken_over(PLAN, PLAN, ALL, ["S1"]) == ("S2",)
    assert steps_taken_over(PLAN, PLAN, ALL, ["S2", "S3"]) == ("S1",)


def test_agent_and_bounds_do_not_change_a_steps_key() -> None:
    after = changed("S1", model="other", timeout_s=9, approval=True)
    assert steps_taken_over(PLAN, after, ALL) == ALL


def test_a_step_whose_upstream_is_done_anew_is_done_anew() -> None:
    # S1 was optional and had failed: now it may give S3 something to read.
    before = changed("S1", optional=True)
    assert steps_taken_over(before, before, ("S2", "S3", "S4")) == ("S2",)


def test_a_patch_made_on_one_that_is_done_anew_is_made_anew_too() -> None:
    needs = {"S3": ["S2"], "S4": ["S5"]}
    assert without_rebuilt(["S2", "S3", "S4", "S5"], {"S2": ["S1"]}, needs) == {"S4", "S5"}
    assert without_rebuilt(["S1", "S2", "S3"], {"S2": ["S1"]}, needs) == {"S1", "S2", "S3"}


@st.composite
def plans(draw: st.DrawFn) -> TaskIR:
    count = draw(st.integers(1, 7))
    prompts = st.sampled_from(["look", "write", "check"])
    steps = [
        {
            "id": f"S{n}",
            "prompt": f"{draw(prompts)} {n}",
            "depends_on": draw(
                st.lists(st.sampled_from([f"S{m}" for m in range(1, n)]), unique=True, max_size=3)
                if n > 1
                else st.just([])
            ),
            "inputs": draw(st.sampled_from([None, [], ["notes"]])),
            "gates": draw(st.sampled_from([None, ["+min_words"]])),
        }
        for n in range(1, count + 1)
    ]
    return plan_of(*steps, inputs={"notes": draw(st.sampled_from(["a", "b"]))})


@given(
    before=plans(),
    after=plans(),
    finished=st.sets(st.sampled_from([f"S{n}" for n in range(1, 8)])),
    again=st.sets(st.sampled_from([f"S{n}" for n in range(1, 8)]), max_size=2),
)
def test_only_steps_with_an_unchanged_input_hash_are_taken_over(
    before: TaskIR, after: TaskIR, finished: set[str], again: set[str]
) -> None:
    taken = set(steps_taken_over(before, after, finished, again))
    old, new = step_digests(compile_plan(before)), step_digests(compile_plan(after))
    assert taken <= finished - again
    assert all(old[name] == new[name] for name in taken)
    upstream = {step.id: set(step.depends_on) for step in after.steps}
    assert all(upstream[name] <= taken for name in taken)
    # And nothing is done anew for no reason.
    for name in new.keys() - taken:
        reasons = name not in finished, name in again, old.get(name) != new[name]
        assert any(reasons) or not upstream[name] <= taken


@given(plan=plans())
def test_the_same_plan_with_all_finished_is_taken_over_whole(plan: TaskIR) -> None:
    ids = tuple(step.id for step in plan.steps)
    assert steps_taken_over(plan, plan, ids) == ids


def check(after: TaskIR = PLAN, taken: tuple[str, ...] = (), again: tuple[str, ...] = ()) -> None:
    check_choice(ForkSource(run="abc", again=again), PLAN, after, taken, len(ALL))


def test_an_unknown_step_is_refused() -> None:
    with pytest.raises(InputError, match=r"no step 'S9'. There are S1 to S4"):
        check(taken=("S1",), again=("S9",))


def test_nothing_to_take_over_is_refused_unless_that_was_asked_for() -> None:
    with pytest.raises(InputError, match=r"the plan leaves none as it was.*--from S1"):
        check()
    with pytest.raises(InputError, match="no step of it is finished"):
        check_choice(ForkSource(run="abc"), PLAN, PLAN, (), 0)
    check(again=("S1", "S2"))


def test_a_fork_that_would_do_nothing_is_refused() -> None:
    with pytest.raises(InputError, match=r"all 4 steps are finished.*--from S4"):
        check(taken=ALL)
    # Another definition of done, or an answer that the orchestrator writes, is something to do.
    check(after=plan_of(*STEPS, definition_of_done=["short"]), taken=ALL)
    two = plan_of(*STEPS[:2])
    check_choice(ForkSource(run="abc"), two, two, ("S1", "S2"), 2)
