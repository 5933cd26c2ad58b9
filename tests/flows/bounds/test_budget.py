"""A launch that could exceed a budget is refused, with the figures."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.errors import BudgetExceededError
from prefect_swarm.flows.bounds.budget import (
    LEAST_ROOM,
    MOST_ROOM,
    Amount,
    Budget,
    Ledger,
    Spending,
    admits,
)
from prefect_swarm.pricing import Price
from prefect_swarm.result import Usage
from prefect_swarm.tasks.subagent.request import SubagentRequest

amounts = st.integers(0, 10_000)
CHEAP = {"m": Price(0.001, 0.002)}


def asked(key: str = "k", **fields: object) -> SubagentRequest:
    request = SubagentRequest(
        key=key,
        run="r",
        step="S1",
        agent="A",
        attempt=1,
        tier="worker",
        model="m",
        instructions="a" * 150,
        prompt="b" * 150,
    )
    return request.model_copy(update=fields)


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


def reserved(ledger: Ledger, request: SubagentRequest) -> SubagentRequest:
    return asyncio.run(ledger.reserve(request))


def test_an_answer_that_nobody_bounds_stays_so_in_a_run_that_nobody_bounds() -> None:
    assert reserved(Ledger(Budget(), 0.0), asked()).max_output_tokens is None


def test_a_bounded_run_bounds_it_by_what_is_left() -> None:
    assert reserved(Ledger(Budget(max_tokens=600), 0.0), asked()).max_output_tokens == 500
    plenty = Ledger(Budget(max_tokens=10**6), 0.0)
    assert reserved(plenty, asked()).max_output_tokens == MOST_ROOM
    money = Ledger(Budget(max_usd=1.1), 0.0, prices=CHEAP)
    assert reserved(money, asked()).max_output_tokens == 500


def test_less_than_is_worth_an_answer_is_refused() -> None:
    with pytest.raises(BudgetExceededError, match=f"up to {100 + LEAST_ROOM} needed"):
        reserved(Ledger(Budget(max_tokens=300), 0.0), asked())


def test_what_a_call_took_is_booked_and_what_it_reserved_is_free_again() -> None:
    ledger = Ledger(Budget(max_tokens=1000), 0.0, prices=CHEAP)
    reserved(ledger, asked(max_output_tokens=100))
    ledger.settle("k", Usage(requests=1, input_tokens=90, output_tokens=10))
    assert ledger.spent.tokens == 100
    assert ledger.spent.usd == pytest.approx(0.09 + 0.02)


def test_a_call_of_which_nothing_is_known_took_all_it_had_reserved() -> None:
    ledger = Ledger(Budget(max_tokens=1000), 0.0)
    reserved(ledger, asked(max_output_tokens=100))
    ledger.settle("k", None)
    assert ledger.spent == Amount(200)
