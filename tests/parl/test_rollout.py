"""A plan is driven to its end in virtual time, and gets the terms of PARL's reward."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.parl.rollout import (
    UNREAD,
    Rollout,
    StepWork,
    Subagent,
    advantages_of,
    agreed_rollout,
    auxiliary_weight,
    execute,
    read_plan,
    reward_of,
    rollout_of,
)
from prefect_swarm.tasks.planner.line_format import read_lines

OBJECTIVE = "Describe iron and gold for a child, then write a song from both"
JOINED = """\
1. Iron Expert: Describe iron for a child
2. Gold Expert: Describe gold for a child
3. Songwriter: Write a song from iron and gold (needs 1, 2)"""
CHAIN = """\
1. Iron Expert: Describe iron for a child
2. Gold Expert: Describe gold for a child (needs 1)
3. Songwriter: Write a song from iron and gold (needs 2)"""


def works(seconds: float = 1.0, requests: int = 1, fails: str = "nothing") -> Subagent:
    def work(prompt: str, outputs: Sequence[str]) -> StepWork:
        said = f"{prompt} [{len(outputs)} read]"
        return StepWork(None if fails in prompt else said, requests, seconds)

    return work


def ran(text: str, subagent: Subagent, slots: int = 16) -> Rollout:
    plan = read_plan(text, OBJECTIVE)
    assert plan is not None
    return rollout_of(plan, execute(plan, subagent, slots), 1.0)


def test_independent_steps_run_at_once() -> None:
    found = ran(JOINED, works(seconds=5))
    assert (found.width, found.seconds, found.steps, found.requests) == (2, 10, 3, 3)


def test_a_chain_runs_one_after_another() -> None:
    found = ran(CHAIN, works(seconds=5))
    assert (found.width, found.seconds) == (1, 15)
    assert found.r_parallel == 0


def test_slots_bound_the_width() -> None:
    found = ran(JOINED, works(seconds=5), slots=1)
    assert (found.width, found.seconds) == (1, 15)


def test_critical_steps_are_the_plans_request_and_the_slowest_of_each_group() -> None:
    # The plan, two groups of three requests each; one output is the answer.
    assert ran(JOINED, works(requests=3)).critical_steps == 1 + 3 + 3
    # Both last outputs are put together by one more request.
    apart = "\n".join(JOINED.splitlines()[:2])
    assert ran(apart, works(requests=3)).critical_steps == 1 + 3 + 1


def test_the_share_that_ran_beside_the_slowest_is_parallel() -> None:
    assert ran(JOINED, works()).r_parallel == pytest.approx(1 / 3)


def test_what_needs_a_step_that_failed_is_not_done() -> None:
    plan = read_plan(JOINED, OBJECTIVE)
    assert plan is not None
    execution = execute(plan, works(fails="gold for"), 16)
    assert execution.statuses == {"S1": "succeeded", "S2": "failed", "S3": "skipped"}
    assert execution.last == ("Describe iron for a child [0 read]",)
    assert rollout_of(plan, execution, 0.5).r_finish == pytest.approx(1 / 3)


def test_a_step_reads_what_it_needs() -> None:
    plan = read_plan(JOINED, OBJECTIVE)
    assert plan is not None
    execution = execute(plan, works(), 16)
    assert execution.last == ("Write a song from iron and gold [2 read]",)


def test_a_plan_with_gold_is_worth_its_agreement() -> None:
    wanted = read_lines(JOINED, OBJECTIVE)
    right, other = (agreed_rollout(text, OBJECTIVE, wanted) for text in (JOINED, CHAIN))
    assert right.r_perf == pytest.approx(1)
    assert other.r_perf <= 0.4
    assert right.r_finish == other.r_finish == 1


def test_what_is_no_plan_is_worth_nothing() -> None:
    wanted = read_lines(JOINED, OBJECTIVE)
    assert agreed_rollout("Iron, then gold.", OBJECTIVE, wanted) is UNREAD
    assert reward_of(UNREAD, 1.0, 1.0) == 0


def test_the_weight_falls_to_zero_and_stays_there() -> None:
    weights = [auxiliary_weight(0.2, share / 10, 0.5) for share in range(11)]
    assert weights[0] == pytest.approx(0.2)
    assert weights[:6] == sorted(weights[:6], reverse=True)
    assert weights[5:] == [0.0] * 6


def test_a_weight_that_is_not_annealed_stays() -> None:
    assert {auxiliary_weight(0.2, share, None) for share in (0.0, 0.5, 1.0)} == {0.2}


def test_the_reward_is_the_weighted_sum() -> None:
    rollout = Rollout(0.5, r_parallel=0.25, r_finish=1.0)
    assert reward_of(rollout, 0.2, 0.1) == pytest.approx(0.2 * 0.25 + 0.1 + 0.5)
    assert reward_of(rollout, 0.0, 0.0) == 0.5


@given(st.lists(st.floats(0, 2), min_size=1, max_size=16))
def test_advantages_add_up_to_nothing_and_keep_the_order(rewards: list[float]) -> None:
    found = advantages_of(rewards)
    assert sum(found) == pytest.approx(0, abs=1e-9)
    order = sorted(range(len(rewards)), key=rewards.__getitem__)
    assert [found[n] for n in order] == sorted(found)


@given(st.data(), st.integers(2, 8), st.integers(1, 4))
def test_any_plan_of_lines_ends_within_its_bounds(
    data: st.DataObject, count: int, slots: int
) -> None:
    lines: list[str] = []
    for number in range(1, count + 1):
        needs = sorted(data.draw(st.sets(st.integers(1, number - 1)))) if number > 1 else []
        said = f" (needs {', '.join(map(str, needs))})" if needs else ""
        lines.append(f"{number}. Poet: Write poem number {number} about rain{said}")
    failing = data.draw(st.integers(0, count))
    found = ran("\n".join(lines), works(fails=f"number {failing} "), slots)
    assert 1 <= found.width <= min(slots, count)
    assert 0 <= found.r_parallel < 1
    assert 0 <= found.r_finish <= 1
    assert (found.r_finish == 1) == (failing == 0)
    assert found.critical_steps <= 2 + found.requests
    assert found.seconds <= found.requests
