"""What a GGUF file's header says: texts, whole numbers, and the tensors with their types."""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterable, Mapping
from typing import NamedTuple

__all__ = ["GgufHeader", "Tensor", "last_tensor", "read_header"]

_INTEGERS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 10: "<Q", 11: "<q"}
_SCALAR_SIZES = {kind: struct.calcsize(form) for kind, form in _INTEGERS.items()} | {
    6: 4,
    7: 1,
    12: 8,
}
_REAL, _STRING, _ARRAY = 6, 8, 9
_MOST_LAYERS = 1024
"""A longer array has an item for each token of a vocabulary, not one for each layer."""


_MOST_DIMENSIONS = 4
"""GGML's tensors have no more."""
_MOST_ENTRIES = 1 << 16
"""Key-values, and tensors: the largest models have some thousands."""
_MOST_TEXTS = 1 << 22
"""Texts of all arrays: a vocabulary has some hundred thousand, and its merges as many."""
_LONGEST_TEXT = 64 << 20
"""Bytes: some files have a whole tokenizer as one text."""
_LARGEST_HEADER = 1 << 30
"""Bytes before the tensors' own."""


class Tensor(NamedTuple):
    """What the header says of a tensor.

    Attributes:
        kind: The number of its type; `requantised.tensor_types` has their names.
        shape: Its lengths, that of a row first.
        start: Where its numbers begin: bytes from the file's beginning.
    """

    name: str
    kind: int
    shape: tuple[int, ...]
    start: int


def last_tensor(tensors: Iterable[Tensor]) -> Tensor:
    """Return the tensor that begins last."""
    return max(tensors, key=lambda tensor: tensor.start)


class GgufHeader(NamedTuple):
    """The key-values of a file, and its tensors.

    Attributes:
        numbers: Whole numbers; of an array with one for each layer, the largest.
        reals: Other numbers, of 32 bits.
        tensors: In the header's order; at least one.
    """

    strings: Mapping[str, str]
    numbers: Mapping[str, int]
    reals: Mapping[str, float]
    tensors: tuple[Tensor, ...]


def read_header(data: mmap.mmap) -> GgufHeader | None:
    """Read the header of a file that begins with GGUF's magic.

    Returns:
        None if a length or offset in it points outside the file, or a count is of no model.
    """
    try:
        return _Reader(data).header()
    except (struct.error, _DamagedError):
        return None


class _DamagedError(Exception):
    """A length or offset in the file points outside of it, or a count is of no model."""


class _Reader:
    """Walks a GGUF header: magic, version, counts, key-values, tensor infos."""

    def __init__(self, data: mmap.mmap) -> None:
        self._data = data
        self._at = 8
        self._strings: dict[str, str] = {}
        self._numbers: dict[str, int] = {}
        self._reals: dict[str, float] = {}
        self._texts = 0

    def header(self) -> GgufHeader:
        tensors, pairs = self._u64(), self._u64()
        if max(tensors, pairs) > _MOST_ENTRIES:
            raise _DamagedError
        for _ in range(pairs):
            self._read_pair()
        found = [self._tensor() for _ in range(tensors)]
        alignment = self._numbers.get("general.alignment", 32)
        if not found or alignment < 1:
            raise _DamagedError
        data_start = -(-self._at // alignment) * alignment
        placed = tuple(t._replace(start=data_start + t.start) for t in found)
        return GgufHeader(self._strings, self._numbers, self._reals, placed)

    def _read_pair(self) -> None:
        key = _text(self._string())
        kind = self._u32()
        if kind == _STRING:
            self._strings[key] = _text(self._string())
        elif kind in _INTEGERS:
            self._numbers[key] = self._integer(kind)
        elif kind == _REAL:
            self._reals[key] = self._real()
        elif kind == _ARRAY:
            if (largest := self._array()) is not None:
                self._numbers[key] = largest
        else:
            self._at += self._size(kind)

    def _array(self) -> int | None:
        """Pass an array; return the largest item if it can have one for each layer."""
        items, count = self._u32(), self._u64()
        if items in _INTEGERS and 0 < count <= _MOST_LAYERS:
            return max(self._integer(items) for _ in range(count))
        if items == _STRING:
            self._texts += count
            if self._texts > _MOST_TEXTS:
                raise _DamagedError
            for _ in range(count):
                self._string()
        else:
            self._at += self._size(items) * count
        return None

    def _tensor(self) -> Tensor:
        """Read what the header says of a tensor; it begins after the header and its `start`."""
        name = _text(self._string())
        dimensions = self._u32()
        if dimensions > _MOST_DIMENSIONS:
            raise _DamagedError
        shape = tuple(self._u64() for _ in range(dimensions))
        return Tensor(name, self._u32(), shape, self._u64())

    @staticmethod
    def _size(kind: int) -> int:
        try:
            return _SCALAR_SIZES[kind]
        except KeyError:
            raise _DamagedError from None

    def _string(self) -> bytes:
        length = self._u64()
        start = self._at
        self._at += length
        if length > _LONGEST_TEXT or self._at > min(len(self._data), _LARGEST_HEADER):
            raise _DamagedError
        return self._data[start : self._at]

    def _u32(self) -> int:
        return self._integer(4)

    def _u64(self) -> int:
        return self._integer(10)

    def _real(self) -> float:
        (value,) = struct.unpack_from("<f", self._data, min(self._at, len(self._data)))
        self._at += _SCALAR_SIZES[_REAL]
        return value

    def _integer(self, kind: int) -> int:
        (value,) = struct.unpack_from(_INTEGERS[kind], self._data, min(self._at, len(self._data)))
        self._at += _SCALAR_SIZES[kind]
        return value


def _text(value: bytes) -> str:
    return value.decode("utf-8", "replace")
