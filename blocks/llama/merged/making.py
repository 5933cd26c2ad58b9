"""Adding an adapter to a model file's weights."""

from __future__ import annotations

import mmap
import shutil
from pathlib import Path

import numpy as np

from ....errors import ModelError
from ..gguf import read_reals, read_tensors
from ..gguf_header import Tensor
from ..requantised.tensor_types import bytes_of
from .low_rank import LowRankChange, added, changes_of
from .q8_0 import Matrix, dequantised, quantised

__all__ = ["merge"]

_ALPHA = "adapter.lora.alpha"
_FLOATS = {0: np.dtype("<f4"), 1: np.dtype("<f2")}


def merge(model: Path, adapter: Path, to: Path) -> None:
    """Write a model file with an adapter added to its weights; its header stays as it is.

    Args:
        model: A model file of Q8_0.
        adapter: A file that passed `check_adapter`.
        to: The new file.

    Raises:
        ModelError: The adapter can't be added to that file.
        OSError: It can't be written.
    """
    tensors = read_tensors(model, "model file")
    changes = changes_of(tensors, read_tensors(adapter, "adapter"))
    if changes is None:
        raise ModelError(
            f"The adapter {adapter} can't be added to the weights of {model}.",
            "Use it as an adapter.",
        )
    # llama.cpp takes an alpha of 0, or none, for the rank.
    alpha = read_reals(adapter, "adapter").get(_ALPHA, 0.0)
    parts = adapter.read_bytes()
    shutil.copyfile(model, to)
    with to.open("r+b") as file, mmap.mmap(file.fileno(), 0) as data:
        for change in changes:
            _add(change, data, parts, alpha)


def _add(change: LowRankChange, data: mmap.mmap, parts: bytes, alpha: float) -> None:
    target = change.target
    place = slice(target.start, target.start + (bytes_of(target) or 0))
    weights = dequantised(data[place], target.shape[0])
    first, second = _numbers(change.first, parts), _numbers(change.second, parts)
    scale = alpha / change.rank if alpha else 1.0
    data[place] = quantised(added(weights, first, second, scale))


def _numbers(tensor: Tensor, parts: bytes) -> Matrix:
    columns, rows = tensor.shape
    kind = _FLOATS[tensor.kind]
    found = np.frombuffer(parts, kind, columns * rows, tensor.start)
    return found.reshape(rows, columns).astype(np.float32)
