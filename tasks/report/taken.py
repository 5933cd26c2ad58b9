"""Which steps of a run another one had done, as a person reads it. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from ...result import StepResult

__all__ = ["taken_line", "taken_words"]

_SHOWN = 12


def taken_words(step: StepResult) -> str:
    """Say whose a step is that was taken over; "" of any other."""
    return step.taken_from.words if step.taken_from else ""


def taken_line(steps: Sequence[StepResult]) -> str:
    """Say in one line which steps were taken over, and from which runs; "" if none were."""
    by_run: dict[str, list[str]] = {}
    for step in steps:
        if step.taken_from is not None:
            by_run.setdefault(step.taken_from.run, []).append(step.id)
    parts = [f"{_some(names)} from run {run}" for run, names in by_run.items()]
    return f"Taken over: {'; '.join(parts)}." if parts else ""


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{', '.join(names[:_SHOWN])}{more}"
