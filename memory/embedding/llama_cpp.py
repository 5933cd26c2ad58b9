"""An embedding model file for llama.cpp, in a context of its own."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import MemoryStoreError
from ...local_extra import require_llama_cpp
from ...openmp import sleeping_threads
from ..protocols import Vectors
from .vectors import unit_rows

__all__ = ["LlamaCppEmbedder"]

_CONTEXT = 512
"""Tokens of a text that count; it is what most embedding models were trained with."""
_SAMPLE = 1 << 20


class LlamaCppEmbedder:
    """Embeds with a GGUF file: pooled as the file says, else by the mean of its token vectors."""

    def __init__(self, path: Path) -> None:
        """Take a model file; it loads at its first use.

        Raises:
            InputError: llama.cpp is not installed.
        """
        require_llama_cpp()
        self._path = path
        self._lock = threading.Lock()
        self._loaded: Any = None
        self._fingerprint = ""

    @property
    def name(self) -> str:
        """`llamacpp`, the file's name, a hash of its size and both ends, and the dimension.

        Raises:
            MemoryStoreError: The file can't be read.
        """
        self._fingerprint = self._fingerprint or _fingerprint(self._path)
        return f"llamacpp/{self._path.name}/{self._fingerprint}/{self.dimension}"

    @property
    def dimension(self) -> int:
        """The width of the model's hidden state."""
        with self._lock:
            return int(self._model().n_embd())

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Shape (n, dimension); an empty text gives a row of zeros.

        Raises:
            MemoryStoreError: The file can't be loaded, or llama.cpp refused.
        """
        with self._lock:
            model = self._model()
            width = int(model.n_embd())
            rows = np.zeros((len(texts), width), dtype=np.float32)
            for n, text in enumerate(texts):
                if text.strip():
                    rows[n] = self._embed_text(model, text).reshape(-1, width).mean(axis=0)
        return unit_rows(rows, width)

    def close(self) -> None:
        """Free the context; the next use loads it again."""
        with self._lock:
            if self._loaded is not None:
                self._loaded.close()
                self._loaded = None

    def _embed_text(self, model: Any, text: str) -> Vectors:
        try:
            # A NUL would end the text where C reads it.
            return np.asarray(model.embed(text.replace("\0", " ")), dtype=np.float32)
        except (RuntimeError, ValueError) as error:
            raise MemoryStoreError(
                f"llama.cpp could not embed a text with {self._path}: {error}.",
                "Use an embedding model's file.",
            ) from error

    def _model(self) -> Any:
        if self._loaded is None:
            if not self._path.is_file():
                raise MemoryStoreError(
                    f"The embedding model {self._path} doesn't exist.", "Check the path."
                )
            self._loaded = _load(self._path)
        return self._loaded


def _load(path: Path) -> Any:
    with sleeping_threads():
        from llama_cpp import Llama
    try:
        return Llama(
            str(path),
            embedding=True,
            n_ctx=_CONTEXT,
            n_batch=_CONTEXT,
            n_ubatch=_CONTEXT,
            n_threads=1,
            n_threads_batch=1,
            verbose=False,
        )
    except (ValueError, RuntimeError, AssertionError) as error:
        raise MemoryStoreError(
            f"The embedding model {path} can't be loaded: {error}.",
            "Check that it is a complete GGUF file that this llama.cpp knows.",
        ) from error


def _fingerprint(path: Path) -> str:
    """Hash the size, the first and the last bytes: telling files apart needs no more."""
    try:
        size = path.stat().st_size
        digest = hashlib.sha256(str(size).encode())
        with path.open("rb") as file:
            digest.update(file.read(_SAMPLE))
            file.seek(max(0, size - _SAMPLE))
            digest.update(file.read(_SAMPLE))
    except OSError as error:
        raise MemoryStoreError(
            f"The embedding model {path} can't be read: {error}.", "Check the path."
        ) from error
    return digest.hexdigest()[:16]
