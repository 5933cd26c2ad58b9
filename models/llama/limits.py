"""How a model file is served where the user sets nothing, and what its answers may take."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationError

from ...data_types import Frozen
from ...errors import ModelError
from ...files import make_folder, write_atomically
from ...settings import SwarmSettings, home
from ...untrusted.folder import read_file
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
    processor_name,
    profile_of,
    shape_of,
    sizing_of,
    tokens_per_second,
)
from .threads import is_quiet

__all__ = [
    "SMALL_BYTES",
    "SlotTable",
    "compute_bytes",
    "config_with",
    "engine_config_for",
    "estimate",
    "is_due",
    "known_speeds",
    "limits_of",
    "measure",
    "measure_if_due",
    "model_shape",
    "read_table",
    "table_path",
    "weight_bytes",
    "write_table",
]


_DAY_S = 24 * 3600.0
_LASTS_S = 30 * _DAY_S
_AGAIN_S = _DAY_S

_Speed = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class SlotTable(Frozen):
    """What came of measuring.

    Attributes:
        speeds: Tokens a second of all texts together, by the count of texts; None if no try gave
            any.
        measured_at: When they were measured, in seconds since 1970.
        tried_at: When it was tried last.
    """

    speeds: dict[int, _Speed] | None
    measured_at: float
    tried_at: float


def is_due(table: SlotTable | None, now: float) -> bool:
    """Whether to measure: nothing is 30 days old or younger, and it wasn't tried today. Pure.

    Args:
        table: The last one.
        now: Seconds since 1970.
    """
    # A clock that was wrong may have given a time to come.
    if table is None or abs(now - table.tried_at) < _AGAIN_S:
        return table is None
    return table.speeds is None or abs(now - table.measured_at) >= _LASTS_S


def table_path(path: Path, config: EngineConfig) -> Path:
    """Return the file for what is measured of a model file; it need not exist.

    Another file of that name, count of threads, processor or version of llama.cpp has another.

    Args:
        path: A file that passed `check_model_file`.
        config: How it is served; its context and slots don't matter.
    """
    stat = path.stat()
    parts = [
        *(str(path), stat.st_size, stat.st_mtime_ns),
        *(config.n_threads or usable_cores(), config.n_gpu_layers),
        *(processor_name(), version("llama-cpp-python"), SwarmSettings().requantise),
    ]
    name = hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]
    return home() / "slots" / f"{name}.json"


def read_table(path: Path) -> SlotTable | None:
    """Return the table in a file; None if there is no file, or it can't be read as that."""
    try:
        return SlotTable.model_validate_json(read_file(path))
    except (OSError, ValidationError):
        return None


def write_table(path: Path, table: SlotTable) -> bool:
    """Store a table; return whether the disk took it."""
    try:
        make_folder(path.parent)
        write_atomically(path, table.model_dump_json())
    except OSError:
        return False
    return True


SMALL_BYTES = 512 * 2**20
"""No larger file is loaded only to measure it: it may take longer than `_MOST_S`."""
_MOST_S = 2.0

# Put in and found by this module alone. What another process measures meanwhile must not lead to
# another configuration, so to another engine for a file that is loaded.
_known: dict[Path, Mapping[int, float] | None] = {}


def known_speeds(path: Path, config: EngineConfig) -> Mapping[int, float] | None:
    """Return how fast several texts of a model file are written here; None if it isn't known.

    A process keeps to its first answer, unless it measures itself.

    Args:
        path: A file that passed `check_model_file`.
        config: How it is served; its context and slots don't matter.

    Returns:
        Tokens a second by the count of texts.
    """
    if SwarmSettings().measure_slots == "off":
        return None
    stored = table_path(path, config)
    if stored not in _known:
        table = read_table(stored)
        _known[stored] = table.speeds if table else None
    return _known[stored]


def measure_if_due(
    path: Path,
    config: EngineConfig,
    say: Callable[[str], None],
    quiet: Callable[[], bool] = is_quiet,
) -> None:
    """Measure a small file that has no table, or an old one, while nothing else computes.

    It takes no longer than two seconds, and the time to load the file.

    Args:
        path: A file that passed `check_model_file`. It is not loaded in this process.
        config: How it is served; its context and slots don't matter.
        say: Called with a line before.
        quiet: Says whether nothing else computes on this machine.
    """
    if SwarmSettings().measure_slots == "off" or path.stat().st_size > SMALL_BYTES:
        return
    if not is_due(read_table(table_path(path, config)), time.time()) or not quiet():
        return
    say("Measuring how many requests the model computes best in parallel: at most 2 s.")
    # A file that can't be loaded says so where it is used.
    with suppress(ModelError):
        measure(path, config, most_s=_MOST_S)


def measure(path: Path, config: EngineConfig, most_s: float | None = None) -> SlotTable:
    """Measure a file and store the result; without one the speeds before it stay.

    Args:
        path: A file that passed `check_model_file`.
        config: How it is served; its context and slots don't matter.
        most_s: Seconds that the steps may take; None for any.

    Raises:
        ModelError: The file can't be loaded, or memory is short.
    """
    # Not at import: it loads llama.cpp.
    from .native import time_texts

    stored, now = table_path(path, config), time.time()
    table = SlotTable(speeds=time_texts(path, config, most_s), measured_at=now, tried_at=now)
    if table.speeds is None and (before := read_table(stored)):
        write_table(stored, before.model_copy(update={"tried_at": now}))
    else:
        write_table(stored, table)
        _known[stored] = table.speeds
    return table


_NOUN = "model file"
# The engine with an adapter gets few requests, at most the further plans of one objective at once,
# so its cache can be smaller than that of the engine without.
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

    A plan is the same whatever else is planned beside it, unless the cache has to be quantised.
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
