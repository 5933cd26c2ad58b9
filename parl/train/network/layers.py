"""The blocks of the llama architecture, whatever computes their products and their attention."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from .base import BaseShape
from .operations import gated_silu, rms_norm

__all__ = ["Linear", "Mix", "forward_blocks"]

Linear = Callable[[str, str, Tensor], Tensor]
"""The product of a block's group of matrices (`blk.3`, `qkv`) with (rows, inputs)."""

Mix = Callable[[int, Tensor], Tensor]
"""A layer's attention: (rows, heads · head) from the product of its group `qkv`."""


def forward_blocks(
    x: Tensor, shape: BaseShape, dtype: torch.dtype, linear: Linear, mix: Mix
) -> Tensor:
    """Send (rows, width) through all blocks.

    Args:
        dtype: Of what the products read; what goes from block to block keeps its own.
    """
    eps = shape.norm_eps
    for layer in range(shape.layers):
        block = f"blk.{layer}"
        mixed = mix(layer, linear(block, "qkv", rms_norm(x, eps, dtype)))
        x = x + linear(block, "out", mixed)
        both = linear(block, "up", rms_norm(x, eps, dtype))
        x = x + linear(block, "down", gated_silu(both))
    return x
