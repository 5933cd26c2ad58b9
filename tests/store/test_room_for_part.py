from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.errors import BudgetExceededError
from prefect_swarm.store.accounts import Amount, Budget, Spending, room_for_part

AMOUNTS = st.builds(
    Amount, st.integers(0, 2_000), st.floats(0, 2, allow_nan=False, allow_infinity=False)
)
BUDGETS = st.builds(
    Budget,
    st.none() | st.integers(1, 2_000),
    st.none() | st.floats(0.01, 2),
    st.none() | st.floats(1, 100),
)


@given(BUDGETS, AMOUNTS, AMOUNTS, st.floats(0, 120))
def test_a_part_never_gets_more_than_what_is_neither_spent_nor_reserved(
    budget: Budget, spent: Amount, reserved: Amount, elapsed_s: float
) -> None:
    try:
        room = room_for_part(budget, Spending(spent, reserved, elapsed_s))
    except BudgetExceededError:
        assert (
            (budget.max_tokens is not None and spent.tokens >= budget.max_tokens)
            or (budget.max_usd is not None and spent.usd >= budget.max_usd)
            or (budget.timeout_s is not None and elapsed_s >= budget.timeout_s)
        )
        return
    if room is None:
        # It waits for something that will be settled.
        assert reserved != Amount()
        return
    given_up = (spent.tokens + reserved.tokens, spent.usd + reserved.usd, elapsed_s)
    bounds = (budget.max_tokens, budget.max_usd, budget.timeout_s)
    rooms = (room.max_tokens, room.max_usd, room.timeout_s)
    for own, most, gone in zip(rooms, bounds, given_up, strict=True):
        assert (own is None) == (most is None)
        if own is not None and most is not None:
            assert 0 < own <= most - gone + 1e-9


@given(
    st.integers(1, 5_000),
    st.lists(st.tuples(st.floats(0, 1), st.booleans()), max_size=30),
)
def test_parts_side_by_side_and_one_after_the_other_keep_the_bound(
    most: int, turns: list[tuple[float, bool]]
) -> None:
    """Parts begin and end in any order; each takes some of its room."""
    budget, spent, open_parts = Budget(max_tokens=most), 0, list[int]()
    for share, begins in turns:
        if begins:
            spending = Spending(Amount(spent), Amount(sum(open_parts)))
            try:
                room = room_for_part(budget, spending)
            except BudgetExceededError:
                assert spent == most
                continue
            if room is not None:
                open_parts.append(room.max_tokens or 0)
        elif open_parts:
            spent += int(share * open_parts.pop(0))
        assert spent + sum(open_parts) <= most


def test_a_part_waits_where_others_have_reserved_more_than_half_of_what_is_left() -> None:
    budget = Budget(max_tokens=1_000)
    assert room_for_part(budget, Spending(Amount(200), Amount(401))) is None
    assert room_for_part(budget, Spending(Amount(200), Amount(400))) == Budget(max_tokens=400)
    with pytest.raises(BudgetExceededError, match="1000 spent"):
        room_for_part(budget, Spending(Amount(1_000), Amount()))
    with pytest.raises(BudgetExceededError, match="money is spent"):
        room_for_part(Budget(max_usd=1.0), Spending(Amount(0, 1.0), Amount()))
