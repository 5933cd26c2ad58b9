"""Q4_1, a type of GGUF's tensors: blocks of 32 integers of 4 bits, a scale and a least. Pure."""

from __future__ import annotations

import numpy as np

from .q8_0 import Matrix

__all__ = ["numbers_of"]

_ITEMS = 32
_BLOCK = np.dtype([("scale", "<f2"), ("least", "<f2"), ("items", "u1", (_ITEMS // 2,))])


def numbers_of(data: bytes, columns: int) -> Matrix:
    """Return the numbers of a tensor.

    Args:
        data: Its blocks, row after row.
        columns: Numbers in a row, a multiple of 32.

    Returns:
        Of shape (rows, columns).
    """
    blocks = np.frombuffer(data, dtype=_BLOCK)
    numbers = np.empty((len(blocks), _ITEMS), np.float32)
    # A byte has an item of the block's first half in its lower bits, and one of the second.
    numbers[:, : _ITEMS // 2] = blocks["items"] & 15
    numbers[:, _ITEMS // 2 :] = blocks["items"] >> 4
    numbers *= blocks["scale"].astype(np.float32)[:, None]
    numbers += blocks["least"].astype(np.float32)[:, None]
    return numbers.reshape(-1, columns)
