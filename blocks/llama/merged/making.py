"""Adding an adapter to a model file's weights."""

from __future__ import annotations

import mmap
import shutil
from pathlib import Path

import numpy as np

from ....errors import ModelError
from ..gguf import Tensor, read_reals, read_tensors
from ..requantised.tensor_types import bytes_of, type_name
from .low_rank import FLOATS, LowRankChange, added, changes_of
from .q4_1 import numbers_of
from .q8_0 import Matrix, quantised

__all__ = ["merge"]

_NOUN = "model file"
_ALPHA = "adapter.lora.alpha"


def merge(requantised: Path, source: Path, adapter: Path, to: Path) -> None:
    """Write a requantised model file with an adapter added to its weights; its header stays.

    What is added to are the source's numbers, so that each is rounded to Q8_0 once and not twice.

    Args:
        requantised: A model file of Q8_0.
        source: What that was made of, of Q4_1.
        adapter: A file that passed `check_adapter`.
        to: The new file.

    Raises:
        ModelError: The adapter can't be added to that file.
        OSError: It can't be written.
    """
    changes = changes_of(
        read_tensors(requantised, _NOUN),
        read_tensors(source, _NOUN),
        read_tensors(adapter, "adapter"),
    )
    if changes is None:
        raise ModelError(
            f"The adapter {adapter} can't be added to the weights of {requantised}.",
            "Use it as an adapter.",
        )
    # llama.cpp takes an alpha of 0, or none, for the rank.
    alpha = read_reals(adapter, "adapter").get(_ALPHA, 0.0)
    parts = adapter.read_bytes()
    shutil.copyfile(requantised, to)
    with (
        source.open("rb") as given,
        mmap.mmap(given.fileno(), 0, access=mmap.ACCESS_READ) as numbers,
        to.open("r+b") as file,
        mmap.mmap(file.fileno(), 0) as data,
    ):
        for change in changes:
            weights = numbers_of(numbers[_place(change.origin)], change.origin.shape[0])
            data[_place(change.target)] = quantised(_changed(weights, change, parts, alpha))


def _place(tensor: Tensor) -> slice:
    return slice(tensor.start, tensor.start + (bytes_of(tensor) or 0))


def _changed(weights: Matrix, change: LowRankChange, parts: bytes, alpha: float) -> Matrix:
    first, second = _numbers(change.first, parts), _numbers(change.second, parts)
    return added(weights, first, second, alpha / change.rank if alpha else 1.0)


def _numbers(tensor: Tensor, parts: bytes) -> Matrix:
    columns, rows = tensor.shape
    kind = FLOATS[type_name(tensor)]
    found = np.frombuffer(parts, kind, columns * rows, tensor.start)
    return found.reshape(rows, columns).astype(np.float32)
