"""Defaults for serving a model file, and limits of its answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from ..names import EMBEDDED, Profile
from .api import BATCH_TOKENS, CacheType, EngineConfig, usable_cores
from .gguf import check_model_file, is_demo_model, read_numbers, read_strings
from .residency import MemoryUse
from .sizing import (
    CONTEXT_STEP,
    ModelShape,
    Sizing,
    cached_as,
    free_memory,
    memory_budget,
    profile_of,
    shape_of,
    sizing_of,
    tokens_per_second,
)
from .slot_speeds import known_speeds

__all__ = [
    "compute_bytes",
    "config_with",
    "engine_config_for",
    "estimate",
    "limits_of",
    "model_shape",
    "weight_bytes",
]


_NOUN = "model file"
# The engine with an adapter gets few requests, at most the further plans of one objective in
# parallel, so its cache can be smaller than that of the engine without.
_ADAPTER_SLOTS = 3
_EMBEDDED = Sizing(EngineConfig.n_ctx, EngineConfig.n_slots)

# Put in and found by `_free_before` alone. Once a file is loaded less memory is free, and from that
# would follow another configuration, so another engine for the same file.
_free: dict[tuple[Path, int, int], int] = {}


def engine_config_for(
    path: str | Path,
    *,
    n_ctx: int | None = None,
    n_slots: int | None = None,
    n_threads: int | None = None,
    n_gpu_layers: int | None = None,
    cache_type: CacheType | None = None,
    keep_loaded: bool = False,
    deterministic: bool = False,
    free: int | None = None,
) -> EngineConfig:
    """Decide how a model file is served; None follows the file and this machine.

    Args:
        path: The model file.
        n_ctx: See `EngineConfig`.
        n_slots: See `EngineConfig`.
        n_threads: See `EngineConfig`.
        n_gpu_layers: See `EngineConfig`.
        cache_type: See `EngineConfig`; a quantised cache leaves room for more context.
        keep_loaded: See `EngineConfig`.
        deterministic: See `EngineConfig`.
        free: Bytes of memory that models may take; None for what was free when this process first
            asked for the file, so that it has one configuration.

    Raises:
        InputError: A figure or the type of the cache is not allowed, or they don't go together.
        ModelError: The model file is not valid.
    """
    path = check_model_file(path)
    config = EngineConfig(
        n_ctx=_EMBEDDED.n_ctx if n_ctx is None else n_ctx,
        n_slots=_EMBEDDED.n_slots if n_slots is None else n_slots,
        n_threads=n_threads,
        n_gpu_layers=n_gpu_layers,
        cache_type=cache_type,
        keep_loaded=keep_loaded,
        deterministic=deterministic,
    )
    if (shape := model_shape(path)) is None:
        return config
    free = _free_before(path) if free is None else free
    shape = cached_as(shape, cache_type)
    speeds = None if n_slots else known_speeds(path, config)
    size = partial(sizing_of, shape, weight_bytes(path), free, n_slots=n_slots, speeds=speeds)
    if is_demo_model(path):
        fitting = size(n_ctx=config.n_ctx).n_slots
        # Its usual caches take 0.4 GB, which it gets whatever is free.
        return replace(config, n_slots=n_slots or max(fitting, _EMBEDDED.n_slots))
    sizing = size(n_ctx=n_ctx)
    return replace(config, n_ctx=sizing.n_ctx, n_slots=sizing.n_slots)


def config_with(config: EngineConfig, adapter: Path) -> EngineConfig:
    """Return how a file is served to requests that an adapter is applied to: plans, above all.

    A plan is the same whatever else is planned in parallel, unless the cache has to be quantised.
    """
    return replace(
        config,
        adapter=adapter,
        n_slots=min(config.n_slots, _ADAPTER_SLOTS),
        deterministic=config.cache_type in (None, "f16"),
    )


def limits_of(path: Path, config: EngineConfig) -> Profile:
    """What a model file that is served so is given and asked for where the user sets nothing.

    Args:
        path: A file that passed `check_model_file`.
        config: How it is served.
    """
    sizing = Sizing(config.n_ctx, config.n_slots)
    if config.n_ctx == _EMBEDDED.n_ctx and is_demo_model(path):
        return EMBEDDED.model_copy(update={"concurrency": 2 * config.n_slots})
    if shape := model_shape(path):
        sizing = Sizing(min(config.n_ctx, shape.trained_context), config.n_slots)
    cores = min(config.n_threads or usable_cores(), usable_cores())
    return profile_of(sizing, tokens_per_second(weight_bytes(path), cores))


def model_shape(path: Path) -> ModelShape | None:
    """Return what a model's context depends on; None if its header doesn't say."""
    architecture = read_strings(path, _NOUN).get("general.architecture", "")
    return shape_of(architecture, read_numbers(path, _NOUN))


def weight_bytes(path: Path) -> int:
    """Return the bytes of a model's weights; the parts of a divided one are about equal."""
    return path.stat().st_size * max(1, read_numbers(path, _NOUN).get("split.count", 1))


def _free_before(path: Path) -> int:
    stat = path.stat()
    key = path, stat.st_size, stat.st_mtime_ns
    if key not in _free:
        _free[key] = min(free_memory(), memory_budget())
    return _free[key]


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
    cache = compute = 0
    if shape is not None:
        n_ctx = -(-min(config.n_ctx, shape.trained_context) // CONTEXT_STEP) * CONTEXT_STEP
        token = cached_as(shape, config.cache_type).kv_bytes_per_token
        cache = config.n_slots * n_ctx * token
        architecture = read_strings(path, _NOUN).get("general.architecture", "")
        compute = compute_bytes(architecture, read_numbers(path, _NOUN), n_ctx)
    adapter = config.adapter.stat().st_size if config.adapter else 0
    return MemoryUse(weight_bytes(path), cache + compute + adapter)


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
