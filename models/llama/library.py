"""The llama.cpp library: its own output, kept away from the user, and the models it has loaded.

A loaded model is only read while contexts compute with it, so they share it: each file is loaded
once. An adapter belongs to one context. Import this late: it loads the shared library.
"""

from __future__ import annotations

import ctypes
import logging
import os
import tempfile
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from ...errors import ModelError
from ...host.system import sleeping_threads
from .gguf import ANOTHER
from .residency import MemoryUse, is_buffer_line, reserved

__all__ = [
    "SharedModel",
    "capture_stderr",
    "clear_errors",
    "first_error",
    "install",
    "lib",
    "lora_adapter",
    "reserving",
    "shared_model",
]


with sleeping_threads():
    import llama_cpp.llama_cpp as lib


_T = TypeVar("_T")
_ERROR_LEVEL = 4

_logger = logging.getLogger("prefect_swarm.llama")
_redirecting = threading.Lock()


class _Errors(threading.local):
    """Error lines of this thread's calls; llama.cpp logs on the thread that called it."""

    def __init__(self) -> None:
        self.lines: list[str] = []


class _Buffers(threading.local):
    """Lines on memory that this thread's calls reserved; None while nobody asks."""

    def __init__(self) -> None:
        self.lines: list[str] | None = None


_errors = _Errors()
_buffers = _Buffers()


@lib.llama_log_callback
def _on_log(level: int, text: bytes, _: object) -> None:
    line = text.decode("utf-8", "replace").strip()
    if line and level == _ERROR_LEVEL:
        _errors.lines = [*_errors.lines, line][:10]
    if _buffers.lines is not None and is_buffer_line(line):
        _buffers.lines.append(line)
    if line:
        _logger.debug(line)


def install() -> None:
    """Take over llama.cpp's log, for the whole process."""
    lib.llama_log_set(_on_log, ctypes.c_void_p(0))


def clear_errors() -> None:
    """Forget what this thread's calls have logged so far."""
    _errors.lines = []


def first_error() -> str:
    """The first error since `clear_errors`: it has the reason, later errors only its effects."""
    line = _errors.lines[0] if _errors.lines else "it gave no reason"
    return line.rpartition("error loading model: ")[2].rstrip(".")


@contextmanager
def reserving() -> Generator[Callable[[], MemoryUse]]:
    """Give a function that says what this thread's calls have reserved inside so far."""
    outer, lines = _buffers.lines, list[str]()
    _buffers.lines = lines
    try:
        yield lambda: reserved(lines)
    finally:
        _buffers.lines = outer


def capture_stderr(call: Callable[[], _T]) -> tuple[_T, str]:
    """Run a short call whose C code prints to stderr; return what it printed, too.

    The grammar parser is the one place where llama.cpp prints past its log.
    """
    with _redirecting, tempfile.TemporaryFile() as file:
        original = os.dup(2)
        os.dup2(file.fileno(), 2)
        try:
            result = call()
        finally:
            os.dup2(original, 2)
            os.close(original)
        file.seek(0)
        return result, file.read().decode("utf-8", "replace")


_ALL_LAYERS = -1
"""llama.cpp's own figure for all layers."""
_Key = tuple[Path, int, int, int]


@dataclass
class SharedModel:
    """A loaded model.

    Attributes:
        size: Bytes of its weights.
        users: How many contexts use it.
    """

    model: lib.llama_model_p
    size: int
    users: int = 0


# Put in and found by `shared_model` alone. Each engine makes its context in a thread of its own,
# and engines don't know of each other, so they meet here by the file.
_loaded: dict[_Key, SharedModel] = {}
# Held while a file loads: two contexts over the same file load it once.
_lock = threading.Lock()


@contextmanager
def shared_model(path: Path, n_gpu_layers: int | None = None) -> Generator[SharedModel]:
    """Use the model of a file: the first user loads it, the last user frees it.

    Args:
        path: The model file.
        n_gpu_layers: See `EngineConfig`.

    Raises:
        ModelError: llama.cpp can't load it.
    """
    layers = _gpu_layers(n_gpu_layers)
    with _lock:
        key = _key(path, layers)
        loaded = _loaded.get(key) or _load(path, layers)
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
            f"llama.cpp refuses the adapter {path} for this model: {first_error()}.",
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


def _load(path: Path, n_gpu_layers: int) -> SharedModel:
    params = lib.llama_model_default_params()
    params.n_gpu_layers = n_gpu_layers
    with reserving() as so_far:
        model = lib.llama_model_load_from_file(str(path).encode(), params)
        size = so_far().weights
    if not model:
        raise ModelError(
            f"llama.cpp can't load the model file {path}: {first_error()}.",
            "Download it again; if it is complete, this llama.cpp may be too old for it.",
        )
    return SharedModel(model, size or lib.llama_model_size(model))


def _reset_after_fork() -> None:
    """In a forked child: the contexts are the parent's, and the lock may have been held."""
    global _lock
    _lock = threading.Lock()
    _loaded.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_after_fork)
