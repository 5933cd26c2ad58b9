"""What was measured, in the data folder: a file for each model file and way of computing."""

from __future__ import annotations

import hashlib
import json
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationError

from ....files import write_atomically
from ....frozen import Frozen
from ....settings import SwarmSettings, home
from ..api import EngineConfig, usable_cores
from ..machine import processor_name

__all__ = ["SlotMeasurement", "kept_path", "read_kept", "write_kept"]

_Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class SlotMeasurement(Frozen):
    """What came of measuring.

    Attributes:
        steps: Seconds of a step by the count of sequences; None if it gave nothing.
        tried_at: When it was done, in seconds since 1970.
    """

    steps: dict[int, _Seconds] | None
    tried_at: float


def kept_path(path: Path, config: EngineConfig) -> Path:
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


def read_kept(path: Path) -> SlotMeasurement | None:
    """Return what a file holds; None if there is none, or it can't be read as that."""
    try:
        return SlotMeasurement.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None


def write_kept(path: Path, measured: SlotMeasurement) -> bool:
    """Keep what was measured; return whether the disk took it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, measured.model_dump_json())
    except OSError:
        return False
    return True
