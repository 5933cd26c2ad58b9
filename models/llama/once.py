"""Files that are made of a model file once, whole or not at all, whatever processes want them."""

from __future__ import annotations

import fcntl
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import NamedTuple

from ...errors import ModelError
from ...files import owner_only, replace_atomically, require_room, storage_error
from .gguf import Tensor, check_model_file, last_tensor, read_tensors, source_of

__all__ = [
    "TYPES",
    "TensorType",
    "bytes_by_type",
    "bytes_of",
    "is_matrix",
    "is_whole",
    "make_once",
    "type_name",
    "write_whole",
]


class TensorType(NamedTuple):
    """A type's name and blocks.

    Attributes:
        items: Numbers in a block; a row is a whole number of blocks.
        size: Bytes of a block.
    """

    name: str
    items: int
    size: int


TYPES = {
    0: TensorType("F32", 1, 4),
    1: TensorType("F16", 1, 2),
    2: TensorType("Q4_0", 32, 18),
    3: TensorType("Q4_1", 32, 20),
    6: TensorType("Q5_0", 32, 22),
    7: TensorType("Q5_1", 32, 24),
    8: TensorType("Q8_0", 32, 34),
    10: TensorType("Q2_K", 256, 84),
    11: TensorType("Q3_K", 256, 110),
    12: TensorType("Q4_K", 256, 144),
    13: TensorType("Q5_K", 256, 176),
    14: TensorType("Q6_K", 256, 210),
    15: TensorType("Q8_K", 256, 292),
    16: TensorType("IQ2_XXS", 256, 66),
    17: TensorType("IQ2_XS", 256, 74),
    18: TensorType("IQ3_XXS", 256, 98),
    19: TensorType("IQ1_S", 256, 50),
    20: TensorType("IQ4_NL", 32, 18),
    21: TensorType("IQ3_S", 256, 110),
    22: TensorType("IQ2_S", 256, 82),
    23: TensorType("IQ4_XS", 256, 136),
    24: TensorType("I8", 1, 1),
    25: TensorType("I16", 1, 2),
    26: TensorType("I32", 1, 4),
    27: TensorType("I64", 1, 8),
    28: TensorType("F64", 1, 8),
    29: TensorType("IQ1_M", 256, 56),
    30: TensorType("BF16", 1, 2),
    34: TensorType("TQ1_0", 256, 54),
    35: TensorType("TQ2_0", 256, 66),
    39: TensorType("MXFP4", 32, 17),
}
"""By the number that a file's header has for it."""


def type_name(tensor: Tensor) -> str:
    """Return the name of a tensor's type; of one that isn't known, `type N`."""
    known = TYPES.get(tensor.kind)
    return known.name if known else f"type {tensor.kind}"


def bytes_of(tensor: Tensor, kind: int | None = None) -> int | None:
    """Return a tensor's bytes, as it is or as another type; None if the type isn't known."""
    known = TYPES.get(tensor.kind if kind is None else kind)
    return None if known is None else prod(tensor.shape) // known.items * known.size


def bytes_by_type(tensors: Iterable[Tensor]) -> dict[str, int]:
    """Return the bytes of the tensors of each known type, by its name."""
    found: dict[str, int] = {}
    for tensor in tensors:
        found[type_name(tensor)] = found.get(type_name(tensor), 0) + (bytes_of(tensor) or 0)
    return found


def is_matrix(tensor: Tensor) -> bool:
    """Whether a tensor has several rows; vectors, such as norms, are never quantised."""
    return len(tensor.shape) > 1


def make_once(path: Path, digest: str, make: Callable[[], None]) -> None:
    """Make a file, unless it is there.

    Args:
        path: The file.
        digest: The hash of its source.
        make: Makes it by `write_whole`.

    Raises:
        StorageError: Its folder can't be written to.
    """
    folder = path.parent
    require_room(folder, 0)
    with _making(folder, digest):
        # Another process may have made it while this one waited.
        if is_whole(path, digest):
            return
        _remove_remains(folder, path)
        make()


def write_whole(path: Path, needed: int, write: Callable[[Path], None]) -> None:
    """Write a model file under another name; it takes its own once it is whole.

    Args:
        path: The file.
        needed: Bytes that it will have, about.
        write: Writes it to the path that it is given.

    Raises:
        StorageError: There is no room for it, or its folder can't be written to.
    """
    require_room(path.parent, needed)
    try:
        with replace_atomically(path) as temporary:
            write(temporary)
    except OSError as error:
        raise storage_error(path, needed, error) from error


@contextmanager
def _making(folder: Path, digest: str) -> Generator[None]:
    """Hold the lock of a source's forms, which dies with the process."""
    try:
        file = open(  # noqa: SIM115 - closed below
            folder / f"{digest}.lock", "a", encoding="ascii", opener=owner_only
        )
    except OSError as error:
        raise storage_error(folder, 0, error) from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
        except OSError as error:
            raise storage_error(folder, 0, error) from error
        yield


def _remove_remains(folder: Path, path: Path) -> None:
    """Remove what a killed process was writing. The caller holds the lock."""
    for remains in folder.glob(f".{path.name[:40]}-*"):
        remains.unlink(missing_ok=True)


def is_whole(path: Path, digest: str) -> bool:
    """Whether a file was made from the source of this hash and has all that its header says."""
    try:
        path = check_model_file(path)
        if source_of(path) != digest:
            return False
        last = last_tensor(read_tensors(path, "model file"))
        return path.stat().st_size >= last.start + (bytes_of(last) or 0)
    except (ModelError, OSError):
        return False
