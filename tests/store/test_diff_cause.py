"""Why one run cost more than another, in a sentence."""

from __future__ import annotations

from typing import Any

import pytest
from prefect_swarm.store.diff_cause import Figure, StepDiff, largest_cause

RUNS = ("aaa", "bbb")


def step(name: str = "S1", **fields: Any) -> StepDiff:
    alike: dict[str, Any] = {
        "statuses": ("succeeded", "succeeded"),
        "models": ("a:x", "a:x"),
        "taken_from": ("", ""),
        "attempts": (1, 1),
        "tokens": (100, 100),
        "seconds": (1.0, 1.0),
    }
    return StepDiff(step=name, **{**alike, **fields})


def cause(*steps: StepDiff, **figures: tuple[Figure, Figure]) -> str:
    return largest_cause(RUNS, figures, steps)


def test_runs_that_cost_the_same_have_no_cause() -> None:
    assert cause(step(), money_usd=(1.0, 1.01), tokens=(100, 101), work_s=(1.0, 1.5)) == ""


def test_a_run_without_a_result_has_no_cause() -> None:
    assert cause(step(), money_usd=(None, None), tokens=(10, None)) == ""


def test_dollars_come_before_tokens_and_seconds() -> None:
    found = cause(
        step(usd=(0.1, 0.3), attempts=(1, 3)),
        money_usd=(0.2, 0.4),
        tokens=(100, 300),
        work_s=(1.0, 9.0),
    )
    assert found == (
        "bbb cost $0.2000 more (+100%), most of it by S1 ($0.1000 → $0.3000): "
        "3 attempts instead of 1."
    )


def test_tokens_count_where_there_is_no_price() -> None:
    found = cause(step("S2", tokens=(300, 100)), money_usd=(None, None), tokens=(400, 200))
    assert found == ("bbb took 200 tokens less (-50%), most of it by S2 (300 tokens → 100 tokens).")


def test_seconds_count_where_all_else_is_the_same() -> None:
    found = cause(step(seconds=(1.0, 9.0)), tokens=(100, 100), work_s=(1.0, 9.0))
    assert found.startswith("bbb worked 8.0 s more (+800%), most of it by S1 (1.0 s → 9.0 s)")


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"members": (8, 20), "attempts": (8, 20)}, "20 members instead of 8"),
        ({"attempts": (1, 2), "models": ("a:x", "b:y")}, "2 attempts instead of 1 and b:y"),
        ({"statuses": ("", "succeeded")}, "only the second run has it"),
        ({"taken_from": ("ccc", "")}, "the first run took it over"),
        ({"calls": (1, 9)}, "9 calls instead of 1"),
    ],
)
def test_what_differs_in_the_step_is_said(fields: dict[str, Any], words: str) -> None:
    assert f": {words}" in cause(step("S1", **{"tokens": (100, 900), **fields}), tokens=(100, 900))


def test_a_step_that_saved_tokens_explains_no_run_that_took_more() -> None:
    steps = (step("S1", tokens=(900, 100)), step("S2", tokens=(100, 1_200)))
    assert "by S2" in cause(*steps, tokens=(1_000, 1_300))


def test_what_no_step_took_is_the_plan_s_and_the_answer_s() -> None:
    found = cause(step(), tokens=(200, 900))
    assert (
        found
        == "bbb took 700 tokens more (+350%), most of it for the plan, the turns and the answer."
    )
