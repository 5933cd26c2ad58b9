"""The choice of requantisation for a model file on a processor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from .gguf import Tensor
from .once import TYPES, bytes_of, is_matrix, type_name

__all__ = [
    "DEFAULT_TARGET",
    "Processor",
    "Requantisation",
    "Target",
    "fast_types",
    "processor_of",
    "requantisation_of",
    "slow_types",
]


Processor = Literal["x86-avx2", "x86-avx512", "arm-dotprod", "arm-i8mm", "other"]

_UNQUANTISED = frozenset({"F32", "F16", "BF16"})
# Interleaved: Q4_0, Q4_K, IQ4_NL and MXFP4. In tiles: Q4_0, Q5_0, Q8_0 and IQ4_NL.
_AVX2 = _UNQUANTISED | {"Q4_0", "Q5_0", "Q8_0", "Q4_K", "IQ4_NL", "MXFP4"}
# All interleaved, Q4_0 and Q8_0 in tiles as well.
_DOTPROD = _UNQUANTISED | {"Q4_0", "Q8_0", "Q4_K", "Q5_K", "Q6_K", "IQ4_NL", "MXFP4"}
_FAST: dict[Processor, frozenset[str]] = {
    "x86-avx2": _AVX2,
    "x86-avx512": _AVX2 | {"Q2_K"},
    "arm-dotprod": _DOTPROD,
    "arm-i8mm": _DOTPROD,
    "other": _UNQUANTISED,
}
# The types of blocks of 32. K-quants are left alone: without an interleaved kernel they have good
# ones for a row, and Q8_0 is up to three times their size, which costs more on large models.
_ASKED_OF = frozenset({"Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0"})
_MEASURED: frozenset[Processor] = frozenset({"x86-avx2", "x86-avx512"})


def processor_of(features: str) -> Processor:
    """Return the kind of processor that a build of llama.cpp computes for.

    Args:
        features: What `llama_print_system_info` says, such as `CPU : AVX2 = 1 | AVX512 = 1`.
    """
    words = features.partition(":")[2].split("|")
    on = {
        name.strip() for name, _, value in (word.partition("=") for word in words) if "1" in value
    }
    if "AVX2" in on:
        return "x86-avx512" if "AVX512" in on else "x86-avx2"
    if "DOTPROD" in on:
        return "arm-i8mm" if "MATMUL_INT8" in on else "arm-dotprod"
    return "other"


def fast_types(processor: Processor) -> frozenset[str]:
    """Return the names of the types with a kernel that multiplies several rows at a time."""
    return _FAST[processor]


def slow_types(processor: Processor) -> frozenset[str]:
    """Return the types that are better requantised; none where that was never measured."""
    if processor not in _MEASURED:
        return frozenset()
    return _ASKED_OF - fast_types(processor)


Target = Literal["q8_0", "q4_0"]
DEFAULT_TARGET: Target = "q8_0"

_KINDS: dict[Target, int] = {"q8_0": 8, "q4_0": 2}
_LEAST_SHARE = 0.1
"""With less of the matrices in slow types, the time goes elsewhere."""


@dataclass(frozen=True)
class Requantisation:
    """What requantising a file would change.

    Attributes:
        target: The type that its matrices get.
        slow: How many matrices of each slow type it has, by the type's name.
        share: The part of the matrices' bytes that is in slow types, from 0 to 1.
        size: Bytes of the new file's tensors, at most.
    """

    target: Target
    slow: dict[str, int]
    share: float
    size: int

    @property
    def source(self) -> str:
        """The slow types with their counts, such as `Q4_1 (210 matrices)`."""
        return ", ".join(f"{name} ({count} matrices)" for name, count in self.slow.items())


def requantisation_of(
    tensors: Sequence[Tensor], processor: Processor, target: Target = DEFAULT_TARGET
) -> Requantisation | None:
    """Decide whether a file is better requantised; None if it is fast as it is.

    A file with a type that isn't known, or with rows that the target's blocks don't fill, is left
    as it is.
    """
    kind = _KINDS[target]
    if any(tensor.kind not in TYPES for tensor in tensors):
        return None
    slow_names = slow_types(processor)
    matrices = [tensor for tensor in tensors if is_matrix(tensor)]
    slow = [tensor for tensor in matrices if type_name(tensor) in slow_names]
    if any(tensor.shape[0] % TYPES[kind].items for tensor in slow):
        return None
    share = _bytes(slow) / max(1, _bytes(matrices))
    if share < _LEAST_SHARE:
        return None
    counts: dict[str, int] = {}
    for tensor in slow:
        counts[type_name(tensor)] = counts.get(type_name(tensor), 0) + 1
    return Requantisation(target, counts, share, _size_after(tensors, kind, slow_names))


def _bytes(tensors: Sequence[Tensor]) -> int:
    return sum(bytes_of(tensor) or 0 for tensor in tensors)


def _size_after(tensors: Sequence[Tensor], kind: int, slow: frozenset[str]) -> int:
    """Bytes at most: llama.cpp may leave an embedding that is larger than the target."""
    total = 0
    for tensor in tensors:
        now, then = bytes_of(tensor) or 0, bytes_of(tensor, kind) or 0
        if type_name(tensor) in slow:
            total += then
        else:
            total += max(now, then) if is_matrix(tensor) else now
    return total
