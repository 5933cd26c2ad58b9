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
from . import library as logs
from .gguf import ANOTHER
from .library import lib
from .merged import merged_of
from .prepared import weights_of

__all__ = ["SharedModel", "lora_adapter", "shared_model"]


_ALL_LAYERS = -1
"""llama.cpp's own figure for all layers."""
_Key = tuple[Path, int, int, int]


@dataclass
class SharedModel:
    """A loaded model.

    Attributes:
        size: Bytes of its weights.
        merged: Whether the adapter that was asked for is in its weights.
        users: How many contexts use it.
    """

    model: lib.llama_model_p
    size: int
    merged: bool = False
    users: int = 0


# Put in and found by `shared_model` alone. Each engine makes its context in a thread of its own,
# and engines don't know of each other, so they meet here by the file.
_loaded: dict[_Key, SharedModel] = {}
# Held while a file loads: two contexts over the same file load it once.
_lock = threading.Lock()


@contextmanager
def shared_model(
    path: Path, n_gpu_layers: int | None = None, adapter: Path | None = None
) -> Generator[SharedModel]:
    """Use the model of a file: the first user loads it, the last user frees it.

    What is loaded may be the file's requantised form, see `requantised`, or that with the adapter
    added, see `merged`; it is the file's model all the same, by name, limits and adapters.

    Args:
        path: The model file.
        n_gpu_layers: See `EngineConfig`.
        adapter: What will be applied, unless it is `merged` in what is yielded.

    Raises:
        ModelError: llama.cpp can't load it.
    """
    layers = _gpu_layers(n_gpu_layers)
    with _lock:
        key, loaded = _merged(path, adapter, layers) or _shared(path, layers)
        loaded.users += 1
        _loaded[key] = loaded
    try:
        yield loaded
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


def _gpu_layers(wanted: int | None) -> int:
    if lib.llama_supports_gpu_offload():
        return _ALL_LAYERS if wanted is None else wanted
    if wanted:
        raise ModelError(
            f"n_gpu_layers is {wanted}, but this llama.cpp was built without GPU support.",
            "Leave it out, or install llama-cpp-python with GPU support, for instance by "
            "CMAKE_ARGS=-DGGML_CUDA=on.",
        )
    return 0


def _key(path: Path, n_gpu_layers: int) -> _Key:
    stat = path.stat()
    return path, stat.st_size, stat.st_mtime_ns, n_gpu_layers


def _shared(path: Path, n_gpu_layers: int) -> tuple[_Key, SharedModel]:
    key = _key(path, n_gpu_layers)
    return key, _loaded.get(key) or _load(path, n_gpu_layers)


def _merged(path: Path, adapter: Path | None, n_gpu_layers: int) -> tuple[_Key, SharedModel] | None:
    """Return the model with the adapter in its weights; None if it is to be applied."""
    merged = merged_of(path, adapter) if adapter is not None else None
    if merged is None:
        return None
    key = _key(merged, n_gpu_layers)
    if loaded := _loaded.get(key) or _open(merged, n_gpu_layers):
        loaded.merged = True
        return key, loaded
    # It is made again at the next start.
    merged.unlink(missing_ok=True)
    logs.clear_errors()
    return None


def _load(path: Path, n_gpu_layers: int) -> SharedModel:
    prepared = weights_of(path)
    if prepared != path:
        if loaded := _open(prepared, n_gpu_layers):
            return loaded
        # It is made again at the next start.
        prepared.unlink(missing_ok=True)
        logs.clear_errors()
    if not (loaded := _open(path, n_gpu_layers)):
        raise ModelError(
            f"llama.cpp can't load the model file {path}: {logs.first_error()}.",
            "Download it again; if it is complete, this llama.cpp may be too old for it.",
        )
    return loaded


def _open(path: Path, n_gpu_layers: int) -> SharedModel | None:
    params = lib.llama_model_default_params()
    params.n_gpu_layers = n_gpu_layers
    with logs.reserving() as so_far:
        model = lib.llama_model_load_from_file(str(path).encode(), params)
        size = so_far().weights
    return SharedModel(model, size or lib.llama_model_size(model)) if model else None


def _reset_after_fork() -> None:
    """In a forked child: the contexts are the parent's, and the lock may have been held."""
    global _lock
    _lock = threading.Lock()
    _loaded.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_after_fork)
