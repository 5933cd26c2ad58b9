"""A core that something else keeps busy has no thread, and the count doesn't go back and forth."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.blocks.llama.threads.deciding import decide_threads

CORES = st.integers(1, 64)
ANNOUNCED = st.integers(0, 100)
FOREIGN = st.none() | st.floats(0, 100)
CURRENT = st.integers(1, 64)


@pytest.mark.parametrize(
    ("cores", "announced", "foreign", "current", "threads"),
    [
        (2, 0, 0.0, 2, 2),
        (2, 0, 0.0, 1, 2),
        (2, 1, 0.0, 2, 1),
        (2, 0, 1.0, 2, 1),
        (2, 0, 0.4, 2, 2),
        (2, 0, 0.4, 1, 1),
        (2, 0, 0.1, 1, 2),
        (2, 9, 9.0, 2, 1),
        (16, 1, 1.0, 16, 15),
        (16, 0, 3.1, 16, 13),
        (16, 4, 1.0, 13, 12),
        (2, 0, None, 1, 1),
        (2, 1, None, 2, 1),
        (1, 0, 0.0, 1, 1),
    ],
)
def test_threads_follow_what_is_free(
    cores: int, announced: int, foreign: float | None, current: int, threads: int
) -> None:
    assert decide_threads(cores, announced, foreign, current) == threads


@given(CORES, ANNOUNCED, FOREIGN, CURRENT)
def test_the_count_is_never_0_and_never_above_the_cores(
    cores: int, announced: int, foreign: float | None, current: int
) -> None:
    assert 1 <= decide_threads(cores, announced, foreign, current) <= cores


@given(CORES, CURRENT)
def test_all_cores_compute_where_nothing_else_does(cores: int, current: int) -> None:
    assert decide_threads(cores, 0, 0.0, current) == cores


@given(CORES, ANNOUNCED, FOREIGN, CURRENT)
def test_a_decision_holds_while_nothing_changes(
    cores: int, announced: int, foreign: float | None, current: int
) -> None:
    decided = decide_threads(cores, announced, foreign, current)
    assert decide_threads(cores, announced, foreign, decided) == decided


@given(CORES, ANNOUNCED, st.floats(0, 100), st.floats(-0.14, 0.14), CURRENT)
def test_a_small_change_of_the_load_never_leads_there_and_back(
    cores: int, announced: int, foreign: float, change: float, current: int
) -> None:
    first = decide_threads(cores, announced, foreign, current)
    second = decide_threads(cores, announced, max(0.0, foreign + change), first)
    third = decide_threads(cores, announced, foreign, second)
    assert third == second or second == first


@given(CORES, ANNOUNCED, st.floats(0, 100), st.floats(0, 100), CURRENT)
def test_more_load_is_never_more_threads(
    cores: int, announced: int, first: float, second: float, current: int
) -> None:
    less, more = sorted((first, second))
    assert decide_threads(cores, announced, more, current) <= decide_threads(
        cores, announced, less, current
    )
