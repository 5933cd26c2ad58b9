"""What a run costs whose steps are spread over a Dask cluster."""

from __future__ import annotations

from .steps import run

__all__ = ["run"]
