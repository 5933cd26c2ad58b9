"""As many sequences are computed together as still bring a fifth more tokens a second."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.blocks.llama.slot_gain.worth import agreed, worthwhile_slots

COUNTS = (1, 2, 4, 8, 16)
seconds = st.floats(1e-4, 1e3)
measured = st.fixed_dictionaries(dict.fromkeys(COUNTS, seconds))


@pytest.mark.parametrize(
    ("steps", "slots"),
    [
        ((10, 10, 10, 10, 10), 16),
        ((10, 20, 40, 80, 160), 1),
        ((10, 12, 16, 25, 40), 16),
        ((10, 12, 16, 25, 45), 8),
        ((10, 17, 17, 17, 17), 1),
        ((44, 54, 73, 113, 200), 8),
    ],
)
def test_each_doubling_has_to_bring_a_fifth(steps: tuple[float, ...], slots: int) -> None:
    assert worthwhile_slots(dict(zip(COUNTS, steps, strict=True))) == slots


@given(measured)
def test_what_is_chosen_writes_most_of_what_it_passed(steps: dict[int, float]) -> None:
    chosen = worthwhile_slots(steps)
    speeds = [count / steps[count] for count in COUNTS if count <= chosen]
    assert speeds == sorted(speeds)
    if chosen < COUNTS[-1]:
        assert 2 * chosen / steps[2 * chosen] < 1.2001 * chosen / steps[chosen]


@given(measured, seconds)
def test_a_machine_twice_as_fast_gains_from_the_same(
    steps: dict[int, float], factor: float
) -> None:
    doubled = {count: 2 * taken for count, taken in steps.items()}
    assert worthwhile_slots(doubled) == worthwhile_slots(steps)


def test_nothing_is_worth_it_that_was_not_measured() -> None:
    assert worthwhile_slots({}) == 1
    assert worthwhile_slots({1: 1.0, 2: 1.0, 8: 1.0}) == 2


def test_measurements_that_agree_give_the_quicker_of_each() -> None:
    assert agreed({1: 1.0, 2: 2.0}, {1: 1.1, 2: 1.9}) == {1: 1.0, 2: 1.9}


@given(measured, measured)
def test_measurements_agree_in_either_order(
    first: dict[int, float], second: dict[int, float]
) -> None:
    assert agreed(first, second) == agreed(second, first)
    assert agreed(first, first) == first


def test_a_single_figure_that_differs_spoils_both() -> None:
    assert agreed({1: 1.0, 2: 2.0}, {1: 1.0, 2: 2.5}) is None
