"""A measured table, in the data folder: a file for each model file and way of computing."""

from __future__ import annotations

import hashlib
import json
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationError

from ....files import make_folder, write_atomically
from ....frozen import Frozen
from ....settings import SwarmSettings, home
from ....untrusted.folder import read_file
from ..api import EngineConfig, usable_cores
from ..machine import processor_name

__all__ = ["SlotTable", "is_due", "read_table", "table_path", "write_table"]

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
