"""A launch that could exceed a budget is refused, with the figures."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.errors import BudgetExceededError
from prefect_swarm.store.accounts import Amount, Budget, Spending, admits

amounts = st.integers(0, 10_000)


def test_no_bound_lets_everything_pass() -> None:
    assert admits(Budget(), Spending(Amount(10**9, 10.0**9), elapsed_s=10**9), Amount(10**9))


def test_the_figures_are_in_the_message() -> None:
    with pytest.raises(BudgetExceededError, match=r"90 spent and up to 11 needed .* than 100"):
        admits(Budget(max_tokens=100), Spending(Amount(90)), Amount(11))


def test_money_is_a_bound_of_its_own() -> None:
    budget, spent = Budget(max_usd=1.0), Spending(Amount(5, 0.75))
    assert admits(budget, spent, Amount(10**6, 0.25))
    with pytest.raises(BudgetExceededError, match=r"\$0\.7500 spent and up to \$0\.2600 .* \$1\."):
        admits(budget, spent, Amount(1, 0.26))


def test_what_others_only_reserve_is_waited_for() -> None:
    assert not admits(Budget(max_tokens=100), Spending(Amount(50), Amount(45)), Amount(10))
    assert not admits(Budget(max_usd=1), Spending(Amount(), Amount(0, 0.95)), Amount(0, 0.1))


def test_time_that_is_spent_is_spent() -> None:
    with pytest.raises(BudgetExceededError, match=r"60\.5 s of 60 s"):
        admits(Budget(timeout_s=60), Spending(elapsed_s=60.5), Amount())


@given(amounts, amounts, amounts, amounts)
def test_what_passes_can_never_exceed_the_bound(
    most: int, spent: int, reserved: int, needed: int
) -> None:
    spending = Spending(Amount(spent), Amount(reserved))
    try:
        passes = admits(Budget(max_tokens=most), spending, Amount(needed))
    except BudgetExceededError:
        assert spent + needed > most
    else:
        assert passes == (spent + reserved + needed <= most)
