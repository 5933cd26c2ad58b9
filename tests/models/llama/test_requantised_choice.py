"""Whether a file is requantised follows from its tensors and the processor."""

from __future__ import annotations

from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.models.llama.gguf import Tensor
from prefect_swarm.models.llama.once import TYPES, bytes_of
from prefect_swarm.models.llama.requantised import requantisation_of

Q4_0, Q4_1, Q5_1, Q8_0, F32, Q6_K, UNKNOWN = 2, 3, 7, 8, 0, 14, 99
HERE = "x86-avx512"


def tensor(kind: int, *shape: int) -> Tensor:
    return Tensor("t", kind, shape or (64, 4), 0)


def test_slow_matrices_are_requantised() -> None:
    change = requantisation_of([tensor(Q4_1), tensor(Q4_1), tensor(F32, 64)], HERE)
    assert change is not None
    assert (change.target, change.slow, change.share) == ("q8_0", {"Q4_1": 2}, 1.0)
    assert change.source == "Q4_1 (2 matrices)"


def test_the_new_size_is_that_of_all_matrices_in_the_target() -> None:
    change = requantisation_of([tensor(Q4_1), tensor(Q8_0), tensor(F32, 64)], HERE)
    assert change is not None
    assert change.size == 2 * (64 * 4 // 32 * 34) + 64 * 4


def test_a_smaller_target_takes_fewer_bytes() -> None:
    change = requantisation_of([tensor(Q4_1)], HERE, "q4_0")
    assert change is not None
    assert change.size == 64 * 4 // 32 * 18


@pytest.mark.parametrize(
    "tensors",
    [
        [tensor(Q8_0), tensor(Q4_0)],
        [tensor(Q6_K, 256, 4)],
        [tensor(F32, 64)],
        [tensor(Q4_1, 64)],
        [tensor(Q4_1), tensor(UNKNOWN)],
        [tensor(Q4_1, 32, 1), tensor(Q8_0, 64, 100)],
        [],
    ],
    ids=["fast", "a K-quant", "a vector", "a slow vector", "unknown", "hardly any", "none"],
)
def test_what_would_gain_nothing_stays(tensors: list[Tensor]) -> None:
    assert requantisation_of(tensors, HERE) is None


def test_on_a_processor_where_nothing_was_measured_a_file_stays() -> None:
    assert requantisation_of([tensor(Q4_1)], "arm-i8mm") is None


@given(st.lists(st.sampled_from([Q4_0, Q4_1, Q5_1, Q8_0, F32]), max_size=8))
def test_a_change_names_each_slow_matrix_and_no_other(kinds: list[int]) -> None:
    change = requantisation_of([tensor(kind) for kind in kinds], HERE)
    slow = sum(kind in (Q4_1, Q5_1) for kind in kinds)
    if change is not None:
        assert sum(change.slow.values()) == slow > 0
        assert 0.1 <= change.share <= 1
    elif F32 not in kinds:
        assert slow <= 0.2 * len(kinds)  # Q8_0 has 1.7 times the bytes of Q4_1.


@given(st.sampled_from(sorted(TYPES)), st.integers(1, 8), st.integers(1, 5))
def test_a_tensors_bytes_are_its_blocks(kind: int, blocks: int, rows: int) -> None:
    shape = blocks * TYPES[kind].items, rows
    assert bytes_of(tensor(kind, *shape)) == prod(shape) // TYPES[kind].items * TYPES[kind].size


def test_the_bytes_of_an_unknown_type_are_not_known() -> None:
    assert bytes_of(tensor(UNKNOWN)) is None
