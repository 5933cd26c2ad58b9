"""The figures of a run, each with what it means. Pure."""

from __future__ import annotations

from ....result import Metrics
from ....text import duration
from ..page import Figure, Figures
from ..view import RunView
from .summary import money

__all__ = ["figures"]


def figures(view: RunView) -> Figures | None:
    """Return the figures of a run; None before any step ran."""
    if view.metrics is None:
        return None
    cost = view.cost
    spent = f"{cost.calls:,} calls, {cost.tokens:,} tokens{money(view)}"
    return Figures((*_measured(view.metrics), Figure("cost", spent, "planning and answer too")))


def _measured(metrics: Metrics) -> tuple[Figure, ...]:
    return (
        Figure("makespan", duration(metrics.makespan_s), "from the first step's start to the end"),
        Figure(
            "critical path", duration(metrics.critical_path_s), "work of the longest chain of steps"
        ),
        Figure("waits on it", duration(metrics.critical_wait_s), "its steps waited for models"),
        Figure("work", duration(metrics.work_s), "of all attempts together, without waits"),
        Figure("parallelism", f"{metrics.parallelism:.2f}", "work ÷ critical path"),
        Figure("speedup", f"{metrics.speedup:.2f}", "work ÷ makespan"),
        Figure(
            "critical steps",
            str(metrics.critical_steps),
            "calls of the orchestrator and of the longest chain",
        ),
    )
