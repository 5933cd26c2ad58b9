"""The default embedder: the token vectors that the package wordllama ships."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

import numpy as np

from ...errors import MemoryStoreError
from ..protocols import Vectors
from .vectors import unit_rows

__all__ = ["WordLlama"]

_TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"
_WEIGHTS = "weights/l2_supercat_256.safetensors"


class WordLlama:
    """The mean of a text's token vectors, 256 wide, from weights inside the package wordllama.

    Only the package's data is used. Importing its code would set up the root logger, and it pads
    the texts of a batch to one length, which makes a vector depend on the other texts.
    """

    dimension = 256

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loaded: tuple[Any, Vectors] | None = None

    @property
    def name(self) -> str:
        """`wordllama`, the package's version and the dimension."""
        return f"wordllama/{version('wordllama')}/{self.dimension}"

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Shape (n, 256); a text without words gives a row of zeros.

        Raises:
            MemoryStoreError: The package's files can't be read.
        """
        tokenizer, table = self._load()
        rows = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for n, text in enumerate(texts):
            # Singly: a batch starts threads, which don't survive a fork.
            encoded: Any = tokenizer.encode(text if text.strip() else "", add_special_tokens=False)
            ids = np.asarray(encoded.ids, dtype=np.int64)
            if ids.size:
                rows[n] = table[np.minimum(ids, len(table) - 1)].mean(axis=0)
        return unit_rows(rows, self.dimension)

    def _load(self) -> tuple[Any, Vectors]:
        with self._lock:
            if self._loaded is None:
                self._loaded = _read_package()
            return self._loaded


def _read_package() -> tuple[Any, Vectors]:
    import safetensors.numpy
    from tokenizers import Tokenizer

    load_file: Any = cast("Any", safetensors.numpy).load_file
    spec = find_spec("wordllama")
    if spec is None or not spec.submodule_search_locations:
        raise MemoryStoreError("The package wordllama is not installed.", "pip install wordllama")
    folder = Path(spec.submodule_search_locations[0])
    try:
        tokenizer: Any = Tokenizer.from_file(str(folder / _TOKENIZER))
        table: Any = load_file(folder / _WEIGHTS)["embedding.weight"]
    except Exception as error:
        raise MemoryStoreError(
            f"The embedder's files in {folder} can't be read: {error}.", "Reinstall wordllama."
        ) from error
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer, np.ascontiguousarray(table, dtype=np.float32)
