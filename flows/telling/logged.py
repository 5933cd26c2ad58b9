"""A run's events as lines of its flow run's log, in place of what Prefect logs of its task runs."""

from __future__ import annotations

import logging
from collections.abc import Generator
from contextlib import contextmanager

from prefect.logging import get_run_logger

from ...events.kinds import PlannedEvent, RunEvent, Tell
from ...events.wording import Heard, is_warning, log_line, planned_lines

__all__ = ["logged"]

_TASK_RUNS = "prefect.task_runs"
_ENDS = ("Finished in state ", "Task run failed with state: ")
_CRASHES = "Finished in state Crashed"


class _WithoutEnds(logging.Filter):
    """Drops the lines on how task runs of a flow run ended: the run's own say more.

    Exceptions and crashes stay: what they say, no event does.
    """

    def __init__(self, flow_run_id: str) -> None:
        super().__init__()
        self._flow_run_id = flow_run_id

    def filter(self, record: logging.LogRecord) -> bool:
        """Say whether a line stays; those of other flow runs do."""
        if getattr(record, "flow_run_id", None) != self._flow_run_id:
            return True
        text = str(record.msg)
        return not text.startswith(_ENDS) or text.startswith(_CRASHES)


@contextmanager
def logged(flow_run_id: str) -> Generator[Tell]:
    """Yield what writes events to the log of the flow run that is under way.

    Whoever has Prefect log everything (DEBUG) gets its own lines too.
    """
    logger, heard = get_run_logger(), Heard()

    def write(event: RunEvent) -> None:
        heard.hear(event)
        if (line := log_line(event, heard)) is not None:
            steps = planned_lines(event) if isinstance(event, PlannedEvent) else []
            level = logging.WARNING if is_warning(event) else logging.INFO
            logger.log(level, "%s", "\n  ".join([line, *steps]))

    with _quiet_task_runs(flow_run_id):
        yield write


@contextmanager
def _quiet_task_runs(flow_run_id: str) -> Generator[None]:
    logger = logging.getLogger(_TASK_RUNS)
    if logger.isEnabledFor(logging.DEBUG):
        yield
        return
    without_ends = _WithoutEnds(flow_run_id)
    logger.addFilter(without_ends)
    try:
        yield
    finally:
        logger.removeFilter(without_ends)
