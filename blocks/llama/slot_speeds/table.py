"""How fast a machine writes one to sixteen texts together: a table, and when it is measured."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationError

from ....errors import ModelError
from ....files import make_folder, write_atomically
from ....frozen import Frozen
from ....settings import SwarmSettings, home
from ....untrusted.folder import read_file
from ..api import EngineConfig, usable_cores
from ..machine import processor_name
from ..threads import is_quiet

__all__ = [
    "SMALL_BYTES",
    "SlotTable",
    "is_due",
    "known_speeds",
    "measure",
    "measure_if_due",
    "read_table",
    "table_path",
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
