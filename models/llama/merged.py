"""The embedded model with its planner's adapter added to its weights."""

from __future__ import annotations

import logging
import mmap
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ...errors import ModelError, StorageError
from .gguf import (
    Tensor,
    file_hash,
    may_be_merged,
    read_reals,
    read_tensors,
)
from .once import bytes_of, is_whole, make_once, type_name, write_whole
from .prepared import find_prepared, weights_of

__all__ = [
    "FLOATS",
    "LowRankChange",
    "Matrix",
    "MergedFile",
    "added",
    "changes_of",
    "find_merged",
    "make_merged",
    "merge",
    "merged_of",
    "numbers_of",
    "quantised",
]


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


_Q4_1_BLOCK = np.dtype([("scale", "<f2"), ("least", "<f2"), ("items", "u1", (_ITEMS // 2,))])


def numbers_of(data: bytes, columns: int) -> Matrix:
    """Return the numbers of a tensor.

    Args:
        data: Its blocks, row after row.
        columns: Numbers in a row, a multiple of 32.

    Returns:
        Of shape (rows, columns).
    """
    blocks = np.frombuffer(data, dtype=_Q4_1_BLOCK)
    numbers = np.empty((len(blocks), _ITEMS), np.float32)
    # A byte has an item of the block's first half in its lower bits, and one of the second.
    numbers[:, : _ITEMS // 2] = blocks["items"] & 15
    numbers[:, _ITEMS // 2 :] = blocks["items"] >> 4
    numbers *= blocks["scale"].astype(np.float32)[:, None]
    numbers += blocks["least"].astype(np.float32)[:, None]
    return numbers.reshape(-1, columns)


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


_logger = logging.getLogger("prefect_swarm.weights")


@dataclass(frozen=True)
class MergedFile:
    """A model file with an adapter added.

    Attributes:
        path: Where it lies, or will.
        size: Its bytes, about.
        made: Whether it is there, whole, and made from its source.
    """

    path: Path
    size: int
    made: bool


def find_merged(source: Path, adapter: Path) -> MergedFile | None:
    """Return what is computed with in place of a file and an adapter; None if it is those two.

    See `may_be_merged`; and where the file isn't requantised either, nothing is merged.
    """
    if not may_be_merged(source, adapter) or (prepared := find_prepared(source)) is None:
        return None
    path = prepared.path.with_name(f"{prepared.path.stem}-{file_hash(adapter)}.gguf")
    return MergedFile(path, prepared.change.size, is_whole(path, file_hash(source)))


def merged_of(source: Path, adapter: Path, say: Callable[[str], None] | None = None) -> Path | None:
    """Return the file to compute with for a model file and an adapter, and make it if need be.

    Args:
        source: A file that passed `check_model_file`.
        adapter: A file that passed `check_adapter`.
        say: Called with a line before something is made, and with why it can't be made. The log
            has it if None.

    Returns:
        None if they are used as they are: they aren't merged, or it can't be made.
    """
    found = find_merged(source, adapter)
    if found is None or found.made:
        return found and found.path
    # Where that can't be made, a line has said so.
    if (weights := weights_of(source, say)) == source:
        return None
    try:
        _prepare(source, weights, adapter, found.path, say or _logger.info)
    except (ModelError, StorageError) as error:
        (say or _logger.warning)(
            f"The planner's adapter can't be added to the model's weights, so it is applied at "
            f"each token, which is slower. {error}"
        )
        return None
    return found.path


def make_merged(weights: Path, source: Path, adapter: Path, path: Path) -> None:
    """Write a source's requantised file with an adapter added; it takes its name once it is whole.

    Raises:
        ModelError: The adapter can't be added to that file.
        StorageError: There is no room for it, or its folder can't be written to.
    """
    needed = weights.stat().st_size
    write_whole(path, needed, lambda temporary: merge(weights, source, adapter, temporary))


def _prepare(
    source: Path, weights: Path, adapter: Path, path: Path, say: Callable[[str], None]
) -> None:
    def make() -> None:
        # Of an adapter that is no longer planned with; a process that has it loaded keeps it.
        for former in path.parent.glob(f"{weights.stem}-*{path.suffix}"):
            former.unlink(missing_ok=True)
        say("Adding the planner's adapter to the model's weights: once, a few seconds.")
        make_merged(weights, source, adapter, path)

    make_once(path, file_hash(source), make)
