"""The numbers of Q4_1 are read as llama.cpp reads them."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from prefect_swarm.models.llama.merged import numbers_of


def test_a_blocks_first_half_is_in_the_lower_bits() -> None:
    block = struct.pack("<ee", 0.5, -1.0) + bytes(n << 4 | 15 - n for n in range(16))
    assert numbers_of(block, 32).tolist() == [
        [(15 - n) * 0.5 - 1 for n in range(16)] + [n * 0.5 - 1 for n in range(16)]
    ]


def test_it_reads_what_the_gguf_package_writes() -> None:
    gguf = pytest.importorskip("gguf")
    matrix = np.random.default_rng(1).normal(size=(8, 64)).astype(np.float32)
    written = gguf.quants.quantize(matrix, gguf.GGMLQuantizationType.Q4_1)
    expected = gguf.quants.dequantize(written, gguf.GGMLQuantizationType.Q4_1)
    assert (numbers_of(written.tobytes(), 64) == expected).all()
