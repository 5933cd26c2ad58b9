"""What a LoRA adapter changes in a model's matrices. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ..gguf_header import Tensor
from .q8_0 import Matrix

__all__ = ["LowRankChange", "added", "changes_of"]

_A, _B = ".lora_a", ".lora_b"
_FLOATS = frozenset({0, 1})
"""F32 and F16, by the numbers that a header has for them."""
_Q8_0 = 8


class LowRankChange(NamedTuple):
    """What an adapter adds to a matrix: the product of two that share a short side.

    Attributes:
        target: The model's matrix.
        first: The adapter's A, rank rows as long as the target's.
        second: Its B, as many rows as the target, each as long as the rank.
    """

    target: Tensor
    first: Tensor
    second: Tensor

    @property
    def rank(self) -> int:
        """The length of the side that they share."""
        return self.second.shape[0]


def changes_of(model: Sequence[Tensor], adapter: Sequence[Tensor]) -> list[LowRankChange] | None:
    """Find what an adapter changes.

    Returns:
        None if it can't be added in place: a matrix isn't there, isn't Q8_0 or has another shape,
        or the adapter holds something else.
    """
    targets = {tensor.name: tensor for tensor in model}
    parts = {tensor.name: tensor for tensor in adapter}
    names = {name.removesuffix(_A).removesuffix(_B) for name in parts}
    if len(parts) != 2 * len(names):
        return None
    found = [_change(name, targets, parts) for name in sorted(names)]
    whole = [change for change in found if change is not None]
    return whole if len(whole) == len(found) else None


def _change(
    name: str, targets: Mapping[str, Tensor], parts: Mapping[str, Tensor]
) -> LowRankChange | None:
    target, first, second = targets.get(name), parts.get(name + _A), parts.get(name + _B)
    if target is None or first is None or second is None:
        return None
    if target.kind != _Q8_0 or not {first.kind, second.kind} <= _FLOATS:
        return None
    if not len(target.shape) == len(first.shape) == len(second.shape) == 2:
        return None
    columns, rows = target.shape
    rank = second.shape[0]
    fits = first.shape == (columns, rank) and second.shape == (rank, rows)
    return LowRankChange(target, first, second) if fits else None


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
