"""What a run costs whose steps are spread over a Dask cluster, and a batch over processes."""

from __future__ import annotations

from .batch import measure
from .steps import run as measure_steps

__all__ = ["run"]


def run() -> str:
    """Measure both and return the sections."""
    return f"{measure_steps()}\n\n{measure()}"
