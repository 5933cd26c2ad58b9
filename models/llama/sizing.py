"""Sizes of a model file's context and slots on this machine."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import NamedTuple

from ..names import Profile
from .api import CacheType

__all__ = [
    "BUDGET_VARIABLE",
    "CONTEXT_STEP",
    "MOST_SLOTS",
    "ModelShape",
    "Sizing",
    "best_slots",
    "cached_as",
    "default_budget",
    "free_memory",
    "memory_budget",
    "processor_name",
    "profile_of",
    "shape_of",
    "sizing_of",
    "tokens_per_second",
]


_MOST_CONTEXT = 32_768
_LEAST_CONTEXT = 2048
_GOOD_CONTEXT = 8192
"""Fewer parallel requests are better than less context for each than this."""
_USUAL_SLOTS = 4
"""Slots that come before more than `_GOOD_CONTEXT`. No measurement takes them away: a short answer
needn't wait for a long one then, and a table that is wrong costs little."""
MOST_SLOTS = 16
"""On two cores sixteen texts in parallel are written 2.2 to 4 times as fast as a single one, by
kind of processor and weights. A slot that is idle slows down no other."""
_AS_GOOD = 0.9
"""Slots that bring less than a tenth more tokens a second aren't worth their memory."""
_UNMEASURED_CACHE = 4 * 2**30
"""Bytes of all caches that slots beyond the usual ones may lead to where nothing was measured: all
of them are written at load, a third of a second a gigabyte, and a GPU may have less memory."""
CONTEXT_STEP = 256
"""llama.cpp reserves whole multiples of so many tokens."""
_CACHE_SHARE = 3
"""The caches take one part in so many of what the weights leave free: other files are loaded too,
and gates run."""
_F16_BYTES = 2
_CACHE_BYTES: Mapping[CacheType, Fraction] = {
    "f16": Fraction(1),
    "q8_0": Fraction(34, 64),
    "q4_0": Fraction(18, 64),
}
"""Bytes of 32 numbers, over those that they have as f16."""

_MEMORY_BYTES_PER_S = 10e9
"""What two channels of DDR4-2133, 34 GB/s on paper, deliver at the least, also when shared."""
_CORE_BYTES_PER_S = 2.5e9
"""A core alone got through 8 GB/s of the embedded model's weights; an older one does less."""
_READ_SPEEDUP = 5
"""A prompt's tokens are computed many at a time, so they take less each than those of an answer."""

_MOST_OUTPUT = 8192
_TIMEOUT_MARGIN = 2
_LEAST_TIMEOUT_S = 300.0
_MOST_TIMEOUT_S = 4 * 3600.0


class ModelShape(NamedTuple):
    """What a model's context depends on.

    Attributes:
        trained_context: Tokens of context that it was trained for.
        kv_bytes_per_token: Bytes of cache for each of them; 0 for a recurrent model.
    """

    trained_context: int
    kv_bytes_per_token: int


class Sizing(NamedTuple):
    """How a model file is served.

    Attributes:
        n_ctx: Tokens of context for one request.
        n_slots: Requests computed together.
    """

    n_ctx: int
    n_slots: int


def shape_of(architecture: str, numbers: Mapping[str, int]) -> ModelShape | None:
    """Read a model's shape from the numbers in its file's header.

    Returns:
        None if one is missing that llama.cpp loads no model without.
    """

    def number(name: str) -> int:
        return max(0, numbers.get(f"{architecture}.{name}", 0))

    trained, layers, width = map(number, ("context_length", "block_count", "embedding_length"))
    if not (trained and layers and width):
        return None
    heads = number("attention.head_count")
    kv_heads = number("attention.head_count_kv") or heads
    head_width = width // heads if heads else 0
    key = number("attention.key_length") or head_width
    value = number("attention.value_length") or head_width
    return ModelShape(trained, layers * kv_heads * (key + value) * _F16_BYTES)


def cached_as(shape: ModelShape, cache_type: CacheType | None) -> ModelShape:
    """Return the shape with a cache of another type than f16."""
    share = _CACHE_BYTES[cache_type or "f16"]
    return shape._replace(kv_bytes_per_token=int(shape.kv_bytes_per_token * share))


def sizing_of(
    shape: ModelShape,
    weights: int,
    free: int,
    *,
    n_ctx: int | None = None,
    n_slots: int | None = None,
    speeds: Mapping[int, float] | None = None,
) -> Sizing:
    """Size a model's contexts so that all their caches take a third of what its weights leave free.

    A request gets as much as the model was trained for, at most 32,768 tokens; where memory is
    short, fewer requests are computed together before one gets less than 8,192, and 2,048 it gets
    in any case. Slots beyond four, up to sixteen, come from what is left then.

    Args:
        shape: The model's.
        weights: Bytes of its weights.
        free: Bytes of memory that are free before it is loaded.
        n_ctx: Taken as it is, if given; at least 1.
        n_slots: Taken as it is, if given; at least 1.
        speeds: Tokens a second of all texts together, by their count, as measured; slots that
            bring less than a tenth are left out then.
    """
    cache = max(0, free - weights) // _CACHE_SHARE
    wanted = min(_GOOD_CONTEXT if n_ctx is None else n_ctx, shape.trained_context)
    slots = n_slots
    if slots is None:
        slots = _slots(cache, wanted * shape.kv_bytes_per_token, _USUAL_SLOTS)
    if n_ctx is None:
        n_ctx = _context(shape, cache // slots)
    if n_slots is None and slots == _USUAL_SLOTS:
        held = min(n_ctx, shape.trained_context) * shape.kv_bytes_per_token
        room = cache if speeds else min(cache, _UNMEASURED_CACHE)
        slots = max(slots, _slots(room, held, MOST_SLOTS))
        slots = best_slots(speeds, slots) if speeds else slots
    return Sizing(n_ctx, slots)


def best_slots(speeds: Mapping[int, float], fitting: int) -> int:
    """Return the fewest slots that write about as fast as the best count that fits.

    Args:
        speeds: Tokens a second of all texts together, by their count.
        fitting: The most that memory allows; at least 1.

    Returns:
        At most `fitting`, and no fewer than 4 where these fit.
    """
    measured = {count: speed for count, speed in speeds.items() if count <= fitting}
    enough = _AS_GOOD * max(measured.values(), default=0.0)
    fewest = min((n for n, speed in measured.items() if speed >= enough), default=fitting)
    # What lies between the largest count that fits and the next one was not measured.
    if fewest == max(measured, default=fitting):
        return fitting
    return max(fewest, min(fitting, _USUAL_SLOTS))


def tokens_per_second(weights: int, cores: int) -> float:
    """Estimate, low rather than high, how fast a CPU writes: a token takes all weights once."""
    return min(_MEMORY_BYTES_PER_S, cores * _CORE_BYTES_PER_S) / max(1, weights)


def profile_of(sizing: Sizing, speed: float) -> Profile:
    """What a model that is served so is given and asked for.

    Args:
        sizing: How it is served.
        speed: Tokens that it writes in a second.
    """
    n_ctx, n_slots = sizing
    read = max(1, n_ctx // 2)
    written = max(1, min(n_ctx // 4, _MOST_OUTPUT))
    seconds = n_slots * (written + read / _READ_SPEEDUP) / speed
    return Profile(
        context_tokens=n_ctx,
        max_input_tokens=read,
        max_output_tokens=written,
        sample_temperature=0.8,
        # One more for each slot, so that the next request is in line when a slot gets free.
        concurrency=2 * n_slots,
        timeout_s=min(max(_LEAST_TIMEOUT_S, _TIMEOUT_MARGIN * seconds), _MOST_TIMEOUT_S),
    )


def _slots(cache: int, context_bytes: int, most: int) -> int:
    for slots in range(most, 1, -1):
        if slots * context_bytes <= cache:
            return slots
    return 1


def _context(shape: ModelShape, cache: int) -> int:
    trained, token_bytes = shape
    most = min(trained, _MOST_CONTEXT)
    fits = min(most, cache // token_bytes) if token_bytes else most
    return max(fits // CONTEXT_STEP * CONTEXT_STEP, min(trained, _LEAST_CONTEXT))


_UNKNOWN = 4 * 2**30
"""Bytes to reckon with where the system doesn't say."""


def free_memory(
    meminfo: Path = Path("/proc/meminfo"), cgroup: Path = Path("/sys/fs/cgroup")
) -> int:
    """Bytes that can be taken without swapping; what files are cached in counts as free.

    Args:
        meminfo: Linux's figures for the machine.
        cgroup: The folder with the container's, which may be allowed less.
    """
    kibibytes = _figure(meminfo, "MemAvailable:")
    free = _free_pages() if kibibytes is None else kibibytes * 1024
    limit = _limit(cgroup / "memory.max")
    if limit is None:
        return free
    return max(0, min(free, limit - (_figure(cgroup / "memory.stat", "anon") or 0)))


def processor_name(cpuinfo: Path = Path("/proc/cpuinfo")) -> str:
    """Return the processor's name; where the system has none, what kind it is.

    Args:
        cpuinfo: Linux's description of it.
    """
    for line in _text(cpuinfo).splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return platform.processor() or platform.machine()


def _free_pages() -> int:
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return _UNKNOWN


def _figure(path: Path, name: str) -> int | None:
    for line in _text(path).splitlines():
        match line.split():
            case [first, figure, *_] if first == name and figure.isdecimal():
                return int(figure)
            case _:
                pass
    return None


def _limit(path: Path) -> int | None:
    """None if there is no limit, which the file says by `max`."""
    text = _text(path).strip()
    return int(text) if text.isdecimal() else None


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except OSError:
        return ""


BUDGET_VARIABLE = "PREFECT_INTEGRATIONS_SWARM_MODEL_MEMORY_GB"
_RESERVE_SHARE = 8
_MOST_RESERVE = 2 * 10**9
"""Bytes. Gates and the memory's indexes need no more than this next to any model."""


def default_budget(free: int) -> int:
    """Return the bytes for models where the user sets none: all but an eighth, at most 2 GB.

    Args:
        free: Bytes of memory that were free before any model was loaded.
    """
    return max(0, free - min(free // _RESERVE_SHARE, _MOST_RESERVE))


def memory_budget() -> int:
    """Return the bytes that all loaded models may take together.

    Raises:
        InputError: The setting is not a number of gigabytes.
    """
    from ...settings import SwarmSettings

    configured = SwarmSettings().model_memory_gb
    return default_budget(_free_at_first()) if configured is None else int(configured * 1e9)


@cache
def _free_at_first() -> int:
    # What is free later lacks what the models themselves have taken.
    return free_memory()
