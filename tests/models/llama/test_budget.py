"""The budget of the models is what the user sets, or what was free without a reserve."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.errors import InputError
from prefect_swarm.models.llama.sizing import BUDGET_VARIABLE, default_budget, memory_budget

GB = 10**9


@pytest.mark.parametrize(
    ("free", "budget"), [(0, 0), (8 * GB, 7 * GB), (16 * GB, 14 * GB), (256 * GB, 254 * GB)]
)
def test_a_reserve_stays_free(free: int, budget: int) -> None:
    assert default_budget(free) == budget


@given(st.integers(0, 10**13), st.integers(0, 10**13))
def test_more_free_memory_is_never_a_smaller_budget(first: int, second: int) -> None:
    less, more = sorted((first, second))
    assert 0 <= default_budget(less) <= default_budget(more) <= more


def test_what_the_user_sets_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(BUDGET_VARIABLE, "2.5")
    assert memory_budget() == 2_500_000_000


def test_the_default_stays_the_same_when_less_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(BUDGET_VARIABLE)
    before = memory_budget()
    monkeypatch.setattr("prefect_swarm.models.llama.sizing.free_memory", lambda: 1)
    assert memory_budget() == before > 1


@pytest.mark.parametrize("value", ["0", "-1", "much", "inf"])
def test_a_budget_that_is_no_amount_is_refused(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(BUDGET_VARIABLE, value)
    with pytest.raises(InputError, match=f"{BUDGET_VARIABLE} is '{value}'"):
        memory_budget()
