"""A few busy cores are left to others; where they want most of them, all threads compete."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.models.llama.threads import decide_threads

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
        (2, 0, 0.67, 2, 1),  # One busy process, which shares the cores with 2 threads ...
        (2, 0, 1.0, 1, 1),  # ... and which has its own beside 1.
        (2, 0, 1.0, 2, 2),  # Two busy processes beside 2 threads ...
        (2, 0, 1.33, 1, 2),  # ... and beside 1.
        (2, 0, 0.4, 2, 2),
        (2, 0, 0.4, 1, 1),
        (2, 0, 0.1, 1, 2),
        (2, 2, 0.0, 2, 2),
        (2, 9, 9.0, 1, 2),
        (16, 1, 1.0, 16, 15),
        (16, 0, 3.1, 16, 13),
        (16, 4, 1.0, 13, 12),
        (16, 0, 7.5, 16, 16),
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


@given(CORES, st.integers(0, 100), st.floats(0, 100), CURRENT)
def test_fewer_threads_compute_only_where_others_want_at_most_a_core_beyond_half(
    cores: int, announced: int, foreign: float, current: int
) -> None:
    if decide_threads(cores, announced, foreign, current) < cores:
        assert announced <= cores / 2 + 1
        assert foreign <= cores / 2 + 1 or current < cores
