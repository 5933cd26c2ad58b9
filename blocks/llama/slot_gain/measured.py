"""When it is measured what slots a machine gains from, and what this process goes by."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from ....errors import ModelError
from ....settings import SwarmSettings
from ..api import EngineConfig
from .kept import SlotMeasurement, kept_path, read_kept, write_kept
from .worth import worthwhile_slots

__all__ = ["SMALL_BYTES", "gained_slots", "measure", "measure_once"]

SMALL_BYTES = 512 * 2**20
"""No larger file is loaded only to measure it: it may take longer than `_MOST_S`."""
_MOST_S = 2.0
_AGAIN_S = 24 * 3600.0
"""After what gave nothing it isn't tried again for so long, unless it is asked for."""

# Put in and found by this module alone. What another process measures meanwhile must not lead to
# another configuration, so to another engine for a file that is loaded.
_known: dict[Path, int | None] = {}


def gained_slots(path: Path, config: EngineConfig) -> int | None:
    """Return the slots that a model file gains from on this machine; None if it isn't known.

    A process keeps to its first answer, unless it measures itself.

    Args:
        path: A file that passed `check_model_file`.
        config: How it is served; its context and slots don't matter.
    """
    if SwarmSettings().measure_slots == "off":
        return None
    kept = kept_path(path, config)
    if kept not in _known:
        _known[kept] = _slots_of(read_kept(kept))
    return _known[kept]


def measure_once(path: Path, config: EngineConfig, say: Callable[[str], None]) -> None:
    """Measure a small file that was not measured yet; it takes no longer than two seconds.

    Args:
        path: A file that passed `check_model_file`. It is not loaded in this process.
        config: How it is served; its context and slots don't matter.
        say: Called with a line before.
    """
    if SwarmSettings().measure_slots == "off" or path.stat().st_size > SMALL_BYTES:
        return
    kept = read_kept(kept_path(path, config))
    if kept and (kept.steps or time.time() - kept.tried_at < _AGAIN_S):
        return
    say("Measuring how many requests the model computes best at once: once, at most 2 s.")
    # A file that can't be loaded says so where it is used.
    with suppress(ModelError):
        measure(path, config, most_s=_MOST_S)


def measure(path: Path, config: EngineConfig, most_s: float | None = None) -> SlotMeasurement:
    """Measure a file and keep the result.

    Args:
        path: A file that passed `check_model_file`.
        config: How it is served; its context and slots don't matter.
        most_s: Seconds that the steps may take; None for any.

    Raises:
        ModelError: The file can't be loaded, or memory is short.
    """
    # Not at import: it loads llama.cpp.
    from .timing import time_steps

    measured = SlotMeasurement(steps=time_steps(path, config, most_s), tried_at=time.time())
    kept = kept_path(path, config)
    if measured.steps or not (read := read_kept(kept)) or not read.steps:
        write_kept(kept, measured)
        _known[kept] = _slots_of(measured)
    return measured


def _slots_of(measured: SlotMeasurement | None) -> int | None:
    return worthwhile_slots(measured.steps) if measured and measured.steps else None
