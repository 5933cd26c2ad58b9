"""Whoever is worth least is unloaded first, and nobody without need."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.models.llama.residency import (
    MemoryUse,
    Resident,
    bytes_of,
    fits_alone,
    to_unload,
)

SIZES = st.integers(0, 40)
RESIDENTS = st.builds(
    Resident,
    name=st.just("m"),
    file=st.sampled_from("abcdef"),
    use=st.builds(MemoryUse, SIZES, SIZES),
    busy=st.booleans(),
    last_used=st.integers(0, 9).map(float),
    pinned=st.booleans(),
    leaving=st.booleans(),
)


def resident(name: str, size: int = 10, **state: bool | float) -> Resident:
    return Resident(name, name, MemoryUse(size, 0))._replace(**state)


WANTED = resident("wanted")


def unloaded(*loaded: Resident, budget: int = 30) -> list[str]:
    return [loaded[place].name for place in to_unload(loaded, WANTED, budget)]


def test_where_all_fit_nothing_is_unloaded() -> None:
    assert unloaded(resident("a"), resident("b")) == []


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (resident("goes", last_used=1), resident("stays", last_used=2)),
        (resident("goes", last_used=2), resident("stays", last_used=1, busy=True)),
        (resident("goes", last_used=2), resident("stays", last_used=1, pinned=True)),
        (resident("goes", busy=True), resident("stays", pinned=True)),
        (resident("goes", pinned=True), resident("stays", pinned=True, busy=True)),
        (resident("goes", leaving=True, busy=True, last_used=2), resident("stays")),
    ],
)
def test_the_first_to_go_is(first: Resident, second: Resident) -> None:
    assert unloaded(first, second, budget=20) == ["goes"]
    assert unloaded(second, first, budget=20) == ["goes"]


def test_a_small_engine_stays_where_a_large_one_has_to_go_anyway() -> None:
    small, large = resident("small", 3, last_used=1), resident("large", 20, last_used=2)
    assert unloaded(small, large, budget=15) == ["large"]


def test_weights_that_two_engines_share_count_once() -> None:
    shared = [Resident(name, "file", MemoryUse(100, 7)) for name in "ab"]
    assert bytes_of(shared) == 114
    assert to_unload(shared[:1], shared[1], 114) == []


def test_unloading_what_shares_its_weights_with_the_wanted_frees_its_context_alone() -> None:
    same = Resident("same", "wanted", MemoryUse(10, 5), last_used=1)
    other = resident("other", 10, last_used=2)
    assert unloaded(same, other, budget=14) == ["same", "other"]
    assert unloaded(same, other, budget=19) == ["other"]
    assert unloaded(same, other, budget=20) == ["same"]


@given(st.lists(RESIDENTS, max_size=6), RESIDENTS, st.integers(0, 200))
def test_what_fits_alone_fits_after_unloading(
    loaded: list[Resident], wanted: Resident, budget: int
) -> None:
    chosen = to_unload(loaded, wanted, budget)
    assert len(set(chosen)) == len(chosen)
    kept = [other for place, other in enumerate(loaded) if place not in chosen]
    if fits_alone(wanted, budget):
        assert bytes_of([*kept, wanted]) <= budget


@given(st.lists(RESIDENTS, max_size=6), RESIDENTS, st.integers(0, 200))
def test_each_engine_that_is_asked_to_leave_has_to(
    loaded: list[Resident], wanted: Resident, budget: int
) -> None:
    chosen = to_unload(loaded, wanted, budget)
    kept = [other for place, other in enumerate(loaded) if place not in chosen]
    for place in chosen:
        if not loaded[place].leaving:
            assert bytes_of([*kept, loaded[place], wanted]) > budget


@given(st.lists(RESIDENTS, max_size=6), RESIDENTS, st.integers(0, 200))
def test_a_pinned_engine_goes_only_where_all_others_are_not_enough(
    loaded: list[Resident], wanted: Resident, budget: int
) -> None:
    chosen = to_unload(loaded, wanted, budget)
    pinned = [other for other in loaded if other.pinned and not other.leaving]
    if bytes_of([*pinned, wanted]) <= budget:
        assert all(loaded[place] not in pinned for place in chosen)
