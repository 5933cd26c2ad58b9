"""When a machine's table is measured, and which table this process goes by."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from ....errors import ModelError
from ....settings import SwarmSettings
from ..api import EngineConfig
from ..threads.foreign_load import is_quiet
from .table import SlotTable, is_due, read_table, table_path, write_table

__all__ = ["SMALL_BYTES", "known_speeds", "measure", "measure_if_due"]

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
    say("Measuring how many requests the model computes best at once: at most 2 s.")
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
    from .timing import time_texts

    stored, now = table_path(path, config), time.time()
    table = SlotTable(speeds=time_texts(path, config, most_s), measured_at=now, tried_at=now)
    if table.speeds is None and (before := read_table(stored)):
        write_table(stored, before.model_copy(update={"tried_at": now}))
    else:
        write_table(stored, table)
        _known[stored] = table.speeds
    return table
