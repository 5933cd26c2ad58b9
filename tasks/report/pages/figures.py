"""The figures of a run, each with what it means. Pure."""

from __future__ import annotations

from ..explained import run_figures
from ..page import Figures
from ..view import RunView

__all__ = ["figures"]


def figures(view: RunView) -> Figures | None:
    """Return the figures of a run; None before any step ran."""
    return run_figures(view.metrics, view.cost) if view.metrics else None
