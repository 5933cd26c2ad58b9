"""Vectors as every embedder returns them: rows of length 1."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..protocols import Vectors

__all__ = ["unit_rows"]


def unit_rows(rows: Any, dimension: int) -> Vectors:
    """Rows of length 1 as float32, shape (n, dimension); rows without a length become zeros."""
    array = np.asarray(rows, dtype=np.float32).reshape(-1, dimension)
    array = np.nan_to_num(array, nan=0.0, posinf=0.0, neginf=0.0)
    lengths = np.linalg.norm(array, axis=1, keepdims=True)
    return np.divide(array, lengths, out=np.zeros_like(array), where=lengths > 0)
