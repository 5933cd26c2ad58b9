"""Reading Q8_0 back, which the package never does."""

from __future__ import annotations

import numpy as np
from prefect_swarm.models.llama.merged import Matrix

_BLOCK = np.dtype([("scale", "<f2"), ("items", "i1", (32,))])


def dequantised(data: bytes, columns: int) -> Matrix:
    """Return the numbers of a tensor.

    Args:
        data: Its blocks, row after row.
        columns: Numbers in a row, a multiple of 32.

    Returns:
        Of shape (rows, columns).
    """
    blocks = np.frombuffer(data, dtype=_BLOCK)
    numbers = blocks["items"].astype(np.float32)
    numbers *= blocks["scale"].astype(np.float32)[:, None]
    return numbers.reshape(-1, columns)
