"""A run's accounts: what is reserved, what was spent, and what no later process may forget."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.errors import BudgetExceededError
from prefect_swarm.flows.bounds import LEAST_ROOM, MOST_ROOM, Ledger
from prefect_swarm.models.names import Price
from prefect_swarm.store.accounts import Accounts, Amount, Budget
from prefect_swarm.store.attempt import Usage
from prefect_swarm.tasks.subagent.request import SubagentRequest

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


def reserved(ledger: Ledger, request: SubagentRequest) -> SubagentRequest:
    return asyncio.run(ledger.reserve(request))


def test_without_bounds_an_answer_has_no_token_limit() -> None:
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


USED = Usage(requests=1, input_tokens=90, output_tokens=10)


def lines_of(*work: tuple[SubagentRequest, Usage | None]) -> list[dict[str, Any]]:
    """What a process wrote that reserved for these requests, and settled those with a usage."""
    lines: list[dict[str, Any]] = []
    ledger = Ledger(
        Budget(max_tokens=10_000),
        0.0,
        clock=lambda: 7.0,
        write=lambda booking: lines.append(booking.model_dump(mode="json")),
    )
    for request, usage in work:
        reserved(ledger, request)
        if usage is not None:
            ledger.settle(request.key, usage)
    return lines


async def stored(_: str) -> bool:
    return True


def test_a_later_process_knows_what_earlier_ones_spent() -> None:
    accounts = Accounts.of(lines_of((asked(max_output_tokens=100), USED)))
    assert accounts.spent == Amount(100)
    assert accounts.usage == USED
    with pytest.raises(BudgetExceededError, match="100 spent and up to 200 needed"):
        reserved(Ledger(Budget(max_tokens=250), 0.0, accounts), asked("k2", max_output_tokens=100))


def test_a_call_whose_process_was_killed_took_all_it_had_reserved() -> None:
    accounts = Accounts.of(lines_of((asked(max_output_tokens=100), None)))
    assert accounts.spent == Amount(200)


def test_a_call_that_was_made_twice_counts_twice() -> None:
    first = asked(max_output_tokens=100)
    accounts = Accounts.of([*lines_of((first, None)), *lines_of((first, USED))])
    assert accounts.spent == Amount(300)


def test_what_a_stored_result_took_is_booked_once_and_never_reserved_for() -> None:
    request = asked(max_output_tokens=100)
    accounts = Accounts.of(lines_of((request, USED)))
    ledger = Ledger(Budget(max_tokens=100, timeout_s=1), 0.0, accounts, is_stored=stored)
    assert reserved(ledger, request) == request, "the run has neither tokens nor time left"
    ledger.settle("k", USED)
    assert ledger.spent == Amount(100)


def test_a_result_that_was_stored_before_it_was_booked_is_booked_as_what_it_took() -> None:
    request = asked(max_output_tokens=100)
    accounts = Accounts.of(lines_of((request, None)))
    ledger = Ledger(Budget(max_tokens=200), 0.0, accounts, is_stored=stored)
    reserved(ledger, request)
    ledger.settle("k", USED)
    assert ledger.spent == Amount(100)


def test_the_seconds_of_all_processes_count() -> None:
    accounts = Accounts.of(lines_of((asked(), USED)))
    ledger = Ledger(Budget(timeout_s=10), 100.0, accounts, clock=lambda: 102.0)
    assert reserved(ledger, asked("k2")).timeout_s == 1.0
    late = Ledger(Budget(timeout_s=9), 100.0, accounts, clock=lambda: 102.0)
    with pytest.raises(BudgetExceededError, match=r"9\.0 s of 9 s"):
        reserved(late, asked("k3"))


def test_what_is_no_booking_is_passed_over() -> None:
    lines = [{"flow_run_id": "x"}, {"key": "k", "tokens": "many"}]
    assert Accounts.of(lines).spent == Amount()


@given(st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), max_size=20))
def test_the_accounts_of_a_process_are_those_that_the_next_reads(
    work: list[tuple[str, bool]],
) -> None:
    lines: list[dict[str, Any]] = []
    ledger = Ledger(
        Budget(max_tokens=100_000),
        0.0,
        write=lambda booking: lines.append(booking.model_dump(mode="json")),
    )
    for key, is_known in work:
        reserved(ledger, asked(key, max_output_tokens=100))
        ledger.settle(key, USED if is_known else None)
    assert Accounts.of(lines) == ledger.accounts


def test_a_part_reserves_what_is_left_and_what_it_took_is_booked_once() -> None:
    ledger = Ledger(Budget(max_tokens=1000, timeout_s=60), 0.0, clock=lambda: 10.0)
    reserved(ledger, asked(max_output_tokens=100))
    assert asyncio.run(ledger.reserve_part("part.S2", "S2")) == Budget(800, None, 50)
    with pytest.raises(TimeoutError):
        asyncio.run(asyncio.wait_for(ledger.reserve_part("part.S3", "S3"), 0))
    for _ in range(2):
        ledger.settle_part("part.S2", "S2", USED, Amount(100))
    assert ledger.spent == Amount(100)
    assert asyncio.run(ledger.reserve_part("part.S3", "S3")) == Budget(700, None, 50)


def test_a_later_process_has_reserved_for_a_part_what_the_one_before_did() -> None:
    lines: list[dict[str, Any]] = []
    before = Ledger(Budget(max_tokens=1000), 0.0, write=lambda b: lines.append(b.model_dump()))
    asyncio.run(before.reserve_part("part.S2", "S2"))
    ledger = Ledger(Budget(max_tokens=5000), 0.0, Accounts.of(lines))
    assert ledger.spent == Amount(1000)
    assert asyncio.run(ledger.reserve_part("part.S2", "S2")) == Budget(1000, None, None)
    assert ledger.spent == Amount()
    ledger.settle_part("part.S2", "S2", USED, Amount(100))
    assert ledger.spent == Amount(100)
