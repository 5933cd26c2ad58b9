"""Files of torch: an adapter that a run kept, and whatever else is written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ...errors import InputError
from .lora import Adapter

__all__ = ["load_adapter", "save_adapter", "write"]


def save_adapter(path: Path, adapter: Adapter, facts: Mapping[str, str]) -> None:
    """Write an adapter and what is known of its making."""
    write(
        path,
        {
            "rank": adapter.rank,
            "alpha": adapter.alpha,
            "a": {name: matrix.detach() for name, matrix in adapter.a.items()},
            "b": {name: matrix.detach() for name, matrix in adapter.b.items()},
            "facts": dict(facts),
        },
    )


def load_adapter(path: Path) -> tuple[Adapter, dict[str, str]]:
    """Read an adapter, and what is known of its making.

    Raises:
        InputError: There is none.
    """
    if not path.is_file():
        raise InputError(f"There is no trained adapter at {path}.", "Give an adapter-*.pt file.")
    saved: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
    a: dict[str, Tensor] = saved["a"]
    b: dict[str, Tensor] = saved["b"]
    return Adapter(saved["rank"], saved["alpha"], a, b), saved["facts"]


def write(path: Path, value: Mapping[str, Any]) -> None:
    """Write tensors and plain values; the file appears whole."""
    part = path.with_suffix(".part")
    with part.open("wb") as file:
        torch.save(value, file)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
