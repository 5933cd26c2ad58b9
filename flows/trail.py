"""What is on disk of a run that has not ended: a small file a step, with its attempts so far."""

from __future__ import annotations

import logging

from ..runs import Run
from .events import StepStatus
from .records import StepRecord, step_result

__all__ = ["keep"]

_logger = logging.getLogger(__name__)


def keep(run: Run, record: StepRecord, status: StepStatus) -> None:
    """Write down how far a step is, with its attempts, their gates and decisions.

    It is for people alone: what a resumed run needs is in Prefect's cache.
    """
    try:
        run.write_step(step_result(record, status))
    except OSError as error:  # a full disk costs the trail, not the step
        _logger.warning("How far %s is could not be written down: %s", record.step.id, error)
