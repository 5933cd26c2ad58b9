"""Q8_0, a type of GGUF's tensors: blocks of 32 integers of 8 bits with a scale of 16. Pure."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["Matrix", "quantised"]

Matrix = npt.NDArray[np.float32]

_ITEMS = 32
_BLOCK = np.dtype([("scale", "<f2"), ("items", "i1", (_ITEMS,))])
_LARGEST = 127


def quantised(matrix: Matrix) -> bytes:
    """Return the blocks of a matrix whose rows are a multiple of 32 long.

    Every number is kept to half of its block's scale, which is a 127th of the block's largest
    magnitude: as llama.cpp does it, but rounded by the scale that is stored.
    """
    numbers = matrix.reshape(-1, _ITEMS)
    blocks = np.empty(len(numbers), dtype=_BLOCK)
    blocks["scale"] = np.abs(numbers).max(axis=1) / _LARGEST
    scale = blocks["scale"].astype(np.float32)
    inverse = np.divide(1, scale, out=np.zeros_like(scale), where=scale > 0)
    # In place: a new array for each step takes more time than the arithmetic.
    scaled = numbers * inverse[:, None]
    np.rint(scaled, out=scaled)
    blocks["items"] = np.clip(scaled, -_LARGEST, _LARGEST, out=scaled)
    return blocks.tobytes()
