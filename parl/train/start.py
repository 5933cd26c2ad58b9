"""An adapter's file, read back to train on from it."""

from __future__ import annotations

from pathlib import Path

import gguf
import torch
from torch import Tensor

from ...blocks.llama.adapter import check_adapter, check_base
from ...errors import InputError
from .base import Base
from .lora import Adapter, sizes

__all__ = ["read_adapter"]


def read_adapter(path: Path, base: Base, rank: int, alpha: float) -> Adapter:
    """Read a GGUF adapter as matrices that can be trained.

    Raises:
        InputError: Its rank or alpha is another, or it doesn't adapt the matrices that are trained.
        ModelError: There is none, or it was made for another base.
    """
    check_base(check_adapter(path), base.path)
    reader = gguf.GGUFReader(path)
    stored = {tensor.name: torch.tensor(tensor.data).float() for tensor in reader.tensors}
    field = reader.get_field("adapter.lora.alpha")
    found = alpha if field is None else float(field.contents())
    if found != alpha:
        raise InputError(f"{path} has alpha {found:g}, not {alpha:g}.", f"Give alpha {found:g}.")
    a: dict[str, Tensor] = {}
    b: dict[str, Tensor] = {}
    for layer in range(base.shape.layers):
        for matrix, (outputs, inputs) in sizes(base.shape).items():
            name = f"blk.{layer}.{matrix}"
            a[name] = _matrix(stored, f"{name}.weight.lora_a", (rank, inputs), path)
            b[name] = _matrix(stored, f"{name}.weight.lora_b", (outputs, rank), path)
    return Adapter(rank, alpha, a, b)


def _matrix(stored: dict[str, Tensor], name: str, shape: tuple[int, int], path: Path) -> Tensor:
    matrix = stored.get(name)
    if matrix is None or matrix.shape != shape:
        has = "none" if matrix is None else " × ".join(map(str, matrix.shape))
        raise InputError(
            f"{path} can't be trained on: {name} should be {shape[0]} × {shape[1]}, it is {has}.",
            "Give the rank that the adapter has, or train a new one.",
        )
    return matrix.requires_grad_()
