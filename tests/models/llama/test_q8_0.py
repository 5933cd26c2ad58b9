"""A matrix keeps its numbers in Q8_0 to half of a block's scale."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from prefect_swarm.models.llama.merged import Matrix, quantised
from q8_0_numbers import dequantised

_LEAST_SCALE = 2.0**-24
"""The least number of 16 bits: no scale is nearer to what it should be than half of it."""

matrices = st.tuples(st.integers(1, 4), st.sampled_from([32, 96])).flatmap(
    lambda shape: arrays(np.float32, shape, elements=st.floats(-1000, 1000, width=32))
)


def scales(matrix: Matrix) -> Matrix:
    """The scale that every number's block should have."""
    blocks = np.abs(matrix.reshape(-1, 32)).max(axis=1) / 127
    return np.repeat(blocks, 32).reshape(matrix.shape)


@given(matrices)
def test_every_number_is_kept_to_half_of_its_blocks_scale(matrix: Matrix) -> None:
    kept = dequantised(quantised(matrix), matrix.shape[1])
    # A scale is itself rounded: to 11 bits, or to a multiple of the least number.
    most = scales(matrix) * (0.5 + 2**-4) + 64 * _LEAST_SCALE
    assert (np.abs(kept - matrix) <= most).all()


@given(matrices)
def test_what_is_quantised_already_stays_as_it_is(matrix: Matrix) -> None:
    kept = dequantised(quantised(matrix), matrix.shape[1])
    again = dequantised(quantised(kept), matrix.shape[1])
    assert (np.abs(again - kept) <= scales(kept) * 2**-4 + 64 * _LEAST_SCALE).all()


@given(matrices)
def test_a_block_takes_34_bytes(matrix: Matrix) -> None:
    assert len(quantised(matrix)) == matrix.size // 32 * 34


def test_zeros_stay_zeros() -> None:
    assert not dequantised(quantised(np.zeros((2, 32), np.float32)), 32).any()


def test_it_reads_what_the_gguf_package_writes() -> None:
    gguf = pytest.importorskip("gguf")
    matrix = np.random.default_rng(1).normal(size=(8, 64)).astype(np.float32)
    theirs = gguf.quants.quantize(matrix, gguf.GGMLQuantizationType.Q8_0)
    expected = gguf.quants.dequantize(theirs, gguf.GGMLQuantizationType.Q8_0)
    assert (dequantised(theirs.tobytes(), 64) == expected).all()
    assert np.abs(dequantised(quantised(matrix), 64) - expected).max() < 0.01 * np.abs(matrix).max()
