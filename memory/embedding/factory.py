"""Embedders by name."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from ...errors import InputError
from ..protocols import Embedder
from .llama_cpp import LlamaCppEmbedder
from .remote import RemoteEmbedder
from .wordllama import WordLlama

__all__ = ["make_embedder"]


@lru_cache(maxsize=8)
def make_embedder(name: str = "wordllama") -> Embedder:
    """Return the embedder of that name; nothing is loaded before its first use.

    Each is made once in a process.

    Args:
        name: `wordllama`, `llamacpp:PATH` for a model file of llama.cpp, or a name that
            pydantic-ai knows an embedding model by, such as `openai:text-embedding-3-small`.

    Raises:
        InputError: The name is none of these, or it needs llama.cpp, which is not installed.
    """
    kind, colon, rest = name.partition(":")
    if name == "wordllama":
        return WordLlama()
    if kind == "llamacpp" and rest:
        return LlamaCppEmbedder(Path(rest).expanduser())
    if colon and kind and rest and kind not in ("wordllama", "llamacpp"):
        return RemoteEmbedder(name)
    raise InputError(
        f"There is no embedder {name!r}.",
        "Use wordllama, llamacpp:PATH or PROVIDER:MODEL.",
    )
