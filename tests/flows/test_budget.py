"""A launch that could exceed a budget is refused, with the figures."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.errors import BudgetExceededError
from prefect_swarm.flows.budget import Budget, Spending, admits, estimate_tokens

amounts = st.integers(0, 10_000)


def test_no_bound_lets_everything_pass() -> None:
    assert admits(Budget(), Spending(tokens=10**9, elapsed_s=10**9), 10**9)


def test_the_figures_are_in_the_message() -> None:
    with pytest.raises(BudgetExceededError, match=r"90 spent and up to 11 needed .* than 100"):
        admits(Budget(max_tokens=100), Spending(tokens=90), 11)


def test_what_others_only_reserve_is_waited_for() -> None:
    assert not admits(Budget(max_tokens=100), Spending(tokens=50, reserved=45), 10)


def test_time_that_is_spent_is_spent() -> None:
    with pytest.raises(BudgetExceededError, match=r"60\.5 s of 60 s"):
        admits(Budget(timeout_s=60), Spending(elapsed_s=60.5), 0)


@given(amounts, amounts, amounts, amounts)
def test_what_passes_can_never_exceed_the_bound(
    most: int, spent: int, reserved: int, needed: int
) -> None:
    try:
        passes = admits(Budget(max_tokens=most), Spending(spent, reserved), needed)
    except BudgetExceededError:
        assert spent + needed > most
    else:
        assert passes == (spent + reserved + needed <= most)


def test_an_estimate_counts_the_prompt_and_all_it_may_write() -> None:
    assert estimate_tokens("a" * 300, 50) == 151
    assert estimate_tokens("茶" * 300, 50) == 351
