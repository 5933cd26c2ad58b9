"""Of several plans for one objective the best and the worst are learnt from."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.parl.train.practice import advantages

rewards = st.lists(st.floats(0, 1), max_size=12)


def test_the_two_best_and_the_two_worst_are_compared_with_their_mean() -> None:
    found = advantages([0.4, 1.0, 0.5, 0.0, 0.8, 0.2])
    assert dict(found) == pytest.approx({1: 0.5, 4: 0.3, 5: -0.3, 3: -0.5})


def test_what_is_worth_the_same_teaches_nothing() -> None:
    assert advantages([0.7] * 8) == []
    assert advantages([]) == []


def test_what_is_as_good_as_the_mean_is_left_out() -> None:
    assert [number for number, _ in advantages([0.5, 1.0, 0.0])] == [1, 2]


@given(rewards)
def test_no_plan_is_learnt_from_twice_and_few_are(some: list[float]) -> None:
    numbers = [number for number, _ in advantages(some)]
    assert len(numbers) == len(set(numbers)) <= 4
    assert set(numbers) <= set(range(len(some)))


@given(rewards)
def test_a_better_plan_has_no_smaller_advantage(some: list[float]) -> None:
    found = advantages(some)
    for number, advantage in found:
        for other, less in found:
            assert some[number] < some[other] or advantage >= less
