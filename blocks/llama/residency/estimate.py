"""What an engine will take, before anything is loaded."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ..api import BATCH_TOKENS, EngineConfig
from ..gguf import read_numbers, read_strings
from ..limits import model_shape, weight_bytes
from ..sizing import CONTEXT_STEP, cached_as
from .model_memory import MemoryUse

__all__ = ["compute_bytes", "estimate"]

_NOUN = "model file"
_FLOAT_BYTES = 4
_WIDTHS = 16
"""Rows of the embedding's width that a token needs on its way through a layer."""
_USUAL_VOCABULARY = 152_000
"""Tokens where the file doesn't say; few models have more."""


def estimate(path: Path, config: EngineConfig) -> MemoryUse:
    """Estimate the memory of an engine.

    Args:
        path: A file that passed `check_model_file`.
        config: How it is served.
    """
    shape = model_shape(path)
    kept = compute = 0
    if shape is not None:
        n_ctx = -(-min(config.n_ctx, shape.trained_context) // CONTEXT_STEP) * CONTEXT_STEP
        token = cached_as(shape, config.cache_type).kv_bytes_per_token
        kept = config.n_slots * n_ctx * token
        architecture = read_strings(path, _NOUN).get("general.architecture", "")
        compute = compute_bytes(architecture, read_numbers(path, _NOUN), n_ctx)
    adapter = config.adapter.stat().st_size if config.adapter else 0
    return MemoryUse(weight_bytes(path), kept + compute + adapter)


def compute_bytes(architecture: str, numbers: Mapping[str, int], n_ctx: int) -> int:
    """Estimate llama.cpp's compute buffers.

    They hold the largest of what is never needed together, the logits or the scores of one layer's
    attention, and some rows besides. Of the embedded model this gives 29 MB for 4,096 tokens of
    context and 42 MB for 8,192; llama.cpp reserves 26 and 44.
    """

    def number(name: str, usual: int = 0) -> int:
        return numbers.get(f"{architecture}.{name}", usual)

    widest = max(number("vocab_size", _USUAL_VOCABULARY), number("attention.head_count") * n_ctx)
    return BATCH_TOKENS * _FLOAT_BYTES * (widest + _WIDTHS * number("embedding_length"))
