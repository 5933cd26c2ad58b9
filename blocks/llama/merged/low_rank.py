"""What a LoRA adapter changes in a model's matrices. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..gguf import Tensor
from ..requantised.tensor_types import type_name
from .q8_0 import Matrix

__all__ = ["FLOATS", "LowRankChange", "added", "changes_of"]

_A, _B = ".lora_a", ".lora_b"
FLOATS = {"F32": np.dtype("<f4"), "F16": np.dtype("<f2")}
"""The types that an adapter's tensors may have."""


class LowRankChange(NamedTuple):
    """What an adapter adds to a matrix: the product of two that share a short side.

    Attributes:
        target: The matrix in the file that is written.
        origin: The same matrix in the file that that was requantised from.
        first: The adapter's A, rank rows as long as the target's.
        second: Its B, as many rows as the target, each as long as the rank.
    """

    target: Tensor
    origin: Tensor
    first: Tensor
    second: Tensor

    @property
    def rank(self) -> int:
        """The length of the side that they share."""
        return self.second.shape[0]


def changes_of(
    requantised: Sequence[Tensor], source: Sequence[Tensor], adapter: Sequence[Tensor]
) -> list[LowRankChange] | None:
    """Find what an adapter changes.

    Returns:
        None if it can't be added in place: a matrix isn't there, has another shape, isn't Q8_0 or
        wasn't Q4_1, or the adapter holds something else.
    """
    targets = {tensor.name: tensor for tensor in requantised}
    origins = {tensor.name: tensor for tensor in source}
    parts = {tensor.name: tensor for tensor in adapter}
    names = {name.removesuffix(_A).removesuffix(_B) for name in parts}
    if len(parts) != 2 * len(names):
        return None
    found: list[LowRankChange] = []
    for name in sorted(names):
        target, origin = targets.get(name), origins.get(name)
        first, second = parts.get(name + _A), parts.get(name + _B)
        if target is None or origin is None or first is None or second is None:
            return None
        found.append(LowRankChange(target, origin, first, second))
    return found if all(map(_fits, found)) else None


def _fits(change: LowRankChange) -> bool:
    target, origin, first, second = change
    if any(len(tensor.shape) != 2 for tensor in change):
        return False
    columns, rows = target.shape
    return (
        (type_name(target), type_name(origin)) == ("Q8_0", "Q4_1")
        and {type_name(first), type_name(second)} <= FLOATS.keys()
        and origin.shape == target.shape
        and first.shape == (columns, change.rank)
        and second.shape == (change.rank, rows)
    )


def added(weights: Matrix, first: Matrix, second: Matrix, scale: float) -> Matrix:
    """Return the weights with an adapter's product added.

    Args:
        weights: Of shape (rows, columns).
        first: A, of shape (rank, columns).
        second: B, of shape (rows, rank).
        scale: How much of it: the adapter's alpha over its rank.
    """
    product: Matrix = np.multiply(second, scale, dtype=np.float32) @ first
    product += weights
    return product
