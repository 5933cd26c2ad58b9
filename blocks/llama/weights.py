"""The models loaded in this process: each file once, however many contexts compute with it.

A loaded model is only read while contexts compute with it, so they share it; an adapter belongs to
one context. Import this late: it loads the shared library.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ...errors import ModelError
from . import logs
from .adapter import ANOTHER
from .library import lib
from .requantised.prepared import weights_of

__all__ = ["lora_adapter", "shared_model"]

_Key = tuple[Path, int, int]


@dataclass
class _SharedModel:
    """A model and how many contexts use it."""

    model: lib.llama_model_p
    users: int = 0


# Put in and found by `shared_model` alone. Each engine makes its context in a thread of its own,
# and engines don't know of each other, so they meet here by the file.
_loaded: dict[_Key, _SharedModel] = {}
# Held while a file loads: two contexts over the same file load it once.
_lock = threading.Lock()


@contextmanager
def shared_model(path: Path) -> Generator[lib.llama_model_p]:
    """Use the model of a file: the first user loads it, the last user frees it.

    What is loaded may be the file's requantised form, see `requantised`; it is the file's model all
    the same, by name, limits and adapters.

    Raises:
        ModelError: llama.cpp can't load it.
    """
    with _lock:
        stat = path.stat()
        key = path, stat.st_size, stat.st_mtime_ns
        loaded = _loaded.get(key) or _SharedModel(_load(path))
        loaded.users += 1
        _loaded[key] = loaded
    try:
        yield loaded.model
    finally:
        with _lock:
            loaded.users -= 1
            if not loaded.users:
                del _loaded[key]
                lib.llama_model_free(loaded.model)


@contextmanager
def lora_adapter(model: lib.llama_model_p, path: Path) -> Generator[lib.llama_adapter_lora_p]:
    """Load an adapter for one context over a model. Close the context before this.

    Raises:
        ModelError: llama.cpp refuses it.
    """
    # The model keeps a list of its adapters.
    with _lock:
        adapter = lib.llama_adapter_lora_init(model, str(path).encode())
    if not adapter:
        raise ModelError(
            f"llama.cpp refuses the adapter {path} for this model: {logs.first_error()}.",
            ANOTHER,
        )
    try:
        yield adapter
    finally:
        with _lock:
            lib.llama_adapter_lora_free(adapter)


def _load(path: Path) -> lib.llama_model_p:
    prepared = weights_of(path)
    if prepared != path:
        if model := _open(prepared):
            return model
        # It is made again at the next start.
        prepared.unlink(missing_ok=True)
        logs.clear_errors()
    if not (model := _open(path)):
        raise ModelError(
            f"llama.cpp can't load the model file {path}: {logs.first_error()}.",
            "Download it again; if it is complete, this llama.cpp may be too old for it.",
        )
    return model


def _open(path: Path) -> lib.llama_model_p | None:
    return lib.llama_model_load_from_file(str(path).encode(), lib.llama_model_default_params())


def _reset_after_fork() -> None:
    """In a forked child: the contexts are the parent's, and the lock may have been held."""
    global _lock
    _lock = threading.Lock()
    _loaded.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_after_fork)
