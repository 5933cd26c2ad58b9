"""The types of tensors in GGUF files: their names, and the bytes that they take."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import NamedTuple

from ..gguf import Tensor

__all__ = ["TYPES", "TensorType", "bytes_by_type", "bytes_of", "is_matrix", "type_name"]


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
