"""LoRA adapters: which one is applied in planning, and whether an adapter fits a model file."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path

from ...errors import ModelError
from .gguf import check_gguf, read_strings

__all__ = [
    "ANOTHER",
    "LARGEST_BASE",
    "SHIPPED_ADAPTER",
    "SOURCE",
    "check_adapter",
    "check_base",
    "file_hash",
    "own_adapter",
    "planner_adapter",
    "source_of",
]

ANOTHER = "Use the model it was made for, or plan without an adapter (--no-adapter)."
"""What to do about an adapter that doesn't fit."""

SHIPPED_ADAPTER = Path(__file__).parents[2] / "parl" / "adapters" / "smollm2-135m-planner.gguf"
_BASE = "swarm.base.sha256"
SOURCE = "swarm.source.sha256"
"""Key in the header of a requantised model file: the hash of what it was made from."""
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
    return adapter if _is_base(model, read_strings(adapter, _NOUN).get(_BASE)) else None


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

    What was made for a file is also made for what was requantised from it.

    Raises:
        ModelError: The hashes differ.
    """
    wanted = read_strings(adapter, _NOUN).get(_BASE)
    if wanted and not _is_base(model, wanted):
        raise ModelError(
            f"The adapter {adapter} was made for another model than {model}: its {_BASE} is "
            f"{wanted[:12]}…, and the file's is {file_hash(model)[:12]}….",
            ANOTHER,
        )


def _is_base(model: Path, wanted: str | None) -> bool:
    """Whether a hash is a model file's, or that of the file it was requantised from."""
    if wanted is None:
        return False
    return wanted == file_hash(model) or wanted == source_of(model)


def source_of(model: Path) -> str | None:
    """The hash of the file that a model file was requantised from; None if it wasn't."""
    try:
        return read_strings(model, "model file").get(SOURCE)
    except ModelError:
        return None  # What is wrong with it is said where it is loaded.


def file_hash(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal: about 0.1 s for 90 MB, computed once in a process."""
    stat = path.stat()
    return _hash(path, stat.st_size, stat.st_mtime_ns)


@lru_cache(maxsize=16)
def _hash(path: Path, size: int, mtime_ns: int) -> str:  # noqa: ARG001 - part of the cache key
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
