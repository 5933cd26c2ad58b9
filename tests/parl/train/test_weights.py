"""What counts more and what less while a plan is learnt."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.parl.train.weights import NAME, SKELETON, token_weights

PLAN = "1. Tea Expert: Describe tea: green, 2. black\n2. Judge: Choose (needs 1)"


def by_letter(plan: str) -> list[tuple[str, float]]:
    letters = [letter.encode() for letter in plan]
    return list(zip(plan, token_weights(letters), strict=True))


def weighed(plan: str, weight: float) -> str:
    return "".join(letter for letter, its in by_letter(plan) if its == weight)


def test_an_agent_s_name_counts_for_less() -> None:
    assert weighed(PLAN, NAME) == "Tea ExpertJudge"


def test_numbers_line_ends_and_needs_count_for_more() -> None:
    assert weighed(PLAN, SKELETON) == "1. \n2.  (needs 1)"


def test_what_a_step_says_counts_as_it_is() -> None:
    assert weighed(PLAN, 1.0) == ": Describe tea: green, 2. black: Choose"


def test_the_end_of_a_plan_counts_for_more() -> None:
    assert token_weights([b"1. A: Do", b""])[-1] == SKELETON


def test_a_token_counts_as_where_it_begins_does() -> None:
    assert token_weights([b"1.", b" Tea Ex", b"pert: Br", b"ew\n", b"2. ", b"A: Do"]) == (
        SKELETON,
        SKELETON,
        NAME,
        1.0,
        SKELETON,
        NAME,
    )


@given(st.lists(st.binary(max_size=4), max_size=30))
def test_every_token_has_a_weight(pieces: list[bytes]) -> None:
    assert len(token_weights(pieces)) == len(pieces)
