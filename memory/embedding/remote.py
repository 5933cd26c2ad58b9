"""Embedding models of providers, through pydantic-ai."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import InputError, MemoryStoreError
from ..protocols import Vectors
from .vectors import unit_rows

__all__ = ["RemoteEmbedder"]

_BATCH = 96
"""Texts of one request; the strictest provider refuses more."""
_TIMEOUT_S = 60.0


class RemoteEmbedder:
    """Asks a provider. All calls run on one event loop in a thread of its own.

    So it can be called from any thread, also inside a running loop, and the provider's client stays
    on the loop that it was made on.
    """

    def __init__(self, model: Any) -> None:
        """Take a model; nothing is imported or requested yet.

        Args:
            model: `PROVIDER:MODEL`, or a `pydantic_ai.embeddings.EmbeddingModel`.
        """
        self._model = model
        self._lock = threading.Lock()
        self._embedder: Any = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._width: int | None = None

    @property
    def name(self) -> str:
        """`pydantic-ai`, the provider, the model and the dimension."""
        label = self._model if isinstance(self._model, str) else self._model.model_name
        return f"pydantic-ai/{label}/{self.dimension}"

    @property
    def dimension(self) -> int:
        """How wide its vectors are; asks the provider once.

        Raises:
            MemoryStoreError: The request failed.
        """
        if self._width is None:
            self._width = len(self._ask(["dimension"])[0])
        return self._width

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Shape (n, dimension); an empty text gives a row of zeros and is not sent.

        Raises:
            MemoryStoreError: The request failed, or the answer has the wrong shape.
        """
        width = self.dimension
        rows = np.zeros((len(texts), width), dtype=np.float32)
        wanted = [n for n, text in enumerate(texts) if text.strip()]
        for start in range(0, len(wanted), _BATCH):
            part = wanted[start : start + _BATCH]
            answer = self._ask([texts[n] for n in part])
            if any(len(row) != width for row in answer):
                raise MemoryStoreError(
                    f"{self._model} gave vectors of another width than {width}.",
                    "Name a model with a fixed dimension.",
                )
            rows[part] = answer
        return unit_rows(rows, width)

    def _ask(self, texts: list[str]) -> Sequence[Sequence[float]]:
        embedder, loop = self._connect()
        call = asyncio.run_coroutine_threadsafe(embedder.embed_documents(texts), loop)
        try:
            answer = call.result(_TIMEOUT_S).embeddings
        except Exception as error:
            call.cancel()
            raise MemoryStoreError(
                f"The embedding model {self._model} gave no answer: {error!r}.",
                "Check its name, its key and the network.",
            ) from error
        if len(answer) != len(texts):
            raise MemoryStoreError(
                f"{self._model} gave {len(answer)} vectors for {len(texts)} texts.",
                "Use another embedding model.",
            )
        return answer

    def _connect(self) -> tuple[Any, asyncio.AbstractEventLoop]:
        with self._lock:
            if self._embedder is None:
                self._embedder = _open(self._model)
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(
                    target=self._loop.run_forever, name="swarm-embedder", daemon=True
                ).start()
            return self._embedder, self._loop


def _open(model: Any) -> Any:
    from pydantic_ai.embeddings import Embedder, infer_embedding_model
    from pydantic_ai.exceptions import UserError

    try:
        return Embedder(infer_embedding_model(model))
    except (UserError, ValueError, ImportError) as error:
        raise InputError(
            f"The embedding model {model} can't be loaded: {error}.",
            "Check its name, its key, and that its provider's package is installed.",
        ) from error
