"""Scoring a plan: what it covers, what it repeats, what it lumps together."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.tasks.plan_lines import read_lines
from prefect_swarm.tasks.plan_score import PlanScore, listed, score

DRINKS = "Compare tea, coffee and water as drinks for the morning"
GOOD = """\
1. Tea Expert: Describe tea as a drink for the morning
2. Coffee Expert: Describe coffee as a drink for the morning
3. Water Expert: Describe water as a drink for the morning
4. Judge: Compare tea, coffee and water as drinks for the morning (needs 1, 2, 3)"""


def _score(lines: str, objective: str = DRINKS) -> PlanScore:
    return score(read_lines(lines, objective), objective)


def test_a_plan_with_a_step_for_each_thing_and_a_join_is_good() -> None:
    found = _score(GOOD)
    assert found.value == 1.0
    assert found.good_enough
    assert found.reasons == ()


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ("1. Expert: Compare tea, coffee and water as drinks", "one step does several things"),
        (GOOD.replace("water", "coffee"), "S3 repeats"),
        (GOOD.replace(" (needs 1, 2, 3)", ""), "no step needs another"),
        (f"{GOOD}\n5. Poet: Write a poem on the sea", "S5 strays"),
        (GOOD.replace("water as a drink", "tea tea tea tea tea tea tea"), "S3 repeats"),
        (
            "1. Tea Expert: Describe tea for the morning\n2. Judge: Compare drinks (needs 1)",
            "1 of 3 listed things have a step of their own",
        ),
    ],
)
def test_a_bad_plan_scores_below_the_threshold_and_says_why(lines: str, reason: str) -> None:
    found = _score(lines)
    assert reason in found.reasons
    assert found.value < _score(GOOD).value


def test_one_step_is_enough_where_one_thing_is_asked() -> None:
    assert _score("1. Poet: Write a poem about the sea", "Write a poem about the sea").value == 1.0


def test_lanes_that_differ_in_what_the_objective_lists_are_no_repeats() -> None:
    lines = (
        "1. A: Describe a long day of a nurse at work\n2. A: Describe a long day of a pilot at work"
    )
    assert _score(lines, "Describe a long day of a nurse and a pilot at work").repeated == 0


@pytest.mark.parametrize(
    ("objective", "things"),
    [
        (DRINKS, ("tea", "coffee", "water")),
        ("1. Draw a house 2. Draw a boat", ("Draw a house", "Draw a boat")),
        ("Plan a party:\n- food\n- music", ("food", "music")),
        ("Plan a trip: food, museums and walks", ("food", "museums", "walks")),
        ("Should we take Linux or Windows? Look at both", ("Linux", "Windows")),
        ("Write a poem, then translate it", ("Write a poem", "translate it")),
        ("Find the leak. Repair it", ("Find the leak", "Repair it")),
        ("Explain how a motor works", ()),
        ("", ()),
    ],
)
def test_the_things_an_objective_lists(objective: str, things: tuple[str, ...]) -> None:
    assert listed(objective) == things


@given(st.text(min_size=1).filter(str.strip))
def test_any_objective_gets_a_score_in_0_to_1(objective: str) -> None:
    assert 0.0 <= _score(GOOD, objective).value <= 1.0
