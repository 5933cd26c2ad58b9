"""An adapter's two matrices are found by name, and added only where they fit in place."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from prefect_swarm.models.llama.gguf import Tensor
from prefect_swarm.models.llama.merged import LowRankChange, Matrix, added, changes_of, quantised
from q8_0_numbers import dequantised

_F32, _F16, _Q4_1, _Q8_0 = 0, 1, 3, 8
NAME = "blk.0.attn_q.weight"
MODEL = (Tensor("output_norm.weight", _F32, (64,), 0), Tensor(NAME, _Q8_0, (64, 96), 256))
SOURCE = tuple(tensor._replace(kind=min(tensor.kind, _Q4_1)) for tensor in MODEL)
A = Tensor(f"{NAME}.lora_a", _F16, (64, 4), 0)
B = Tensor(f"{NAME}.lora_b", _F32, (4, 96), 512)

numbers = st.floats(-1, 1, width=32)


def test_a_matrix_is_found_with_what_is_added_to_it() -> None:
    changes = changes_of(MODEL, SOURCE, [B, A])
    assert changes == [LowRankChange(MODEL[1], SOURCE[1], A, B)]


def test_the_rank_is_the_length_of_the_shared_side() -> None:
    assert LowRankChange(MODEL[1], SOURCE[1], A, B).rank == 4


@pytest.mark.parametrize(
    "adapter",
    [
        [A],
        [A, B, Tensor("extra", _F32, (4,), 0)],
        [A._replace(shape=(32, 4)), B],
        [A, B._replace(shape=(8, 96))],
        [A._replace(shape=(64,)), B],
        [A._replace(kind=_Q8_0), B],
        [A._replace(name="other.lora_a"), B._replace(name="other.lora_b")],
    ],
    ids=["half", "more", "columns", "rank", "a vector", "quantised", "no such matrix"],
)
def test_an_adapter_that_does_not_fit_is_not_added(adapter: list[Tensor]) -> None:
    assert changes_of(MODEL, SOURCE, adapter) is None


@pytest.mark.parametrize("changed", [{"kind": _F16}, {"shape": (96, 64)}, {"name": "other"}])
def test_another_matrix_than_is_known_is_left_alone(changed: dict[str, Any]) -> None:
    other = [SOURCE[1]._replace(**changed)]
    assert changes_of(MODEL, other, [A, B]) is None
    assert changes_of(other, SOURCE, [A, B]) is None


@given(
    arrays(np.float32, (6, 32), elements=numbers),
    arrays(np.float32, (3, 32), elements=numbers),
    arrays(np.float32, (6, 3), elements=numbers),
    st.floats(0, 4),
)
def test_the_merged_matrix_is_near_that_of_exact_arithmetic(
    weights: Matrix, first: Matrix, second: Matrix, scale: float
) -> None:
    exact = weights.astype(np.float64) + scale * second.astype(np.float64) @ first
    merged = added(weights, first, second, scale)
    assert merged.dtype == np.float32
    assert np.allclose(merged, exact, atol=1e-5)
    kept = dequantised(quantised(merged), 32)
    assert (np.abs(kept - exact) <= np.abs(exact).max() / 127 * 0.57 + 1e-5).all()
