"""A run's events are numbered, stored in its folder and logged before any other sink gets them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace

from prefect.logging import get_run_logger

from ..approvals.waiting import RunWaitingError
from ..errors import RunCancelledError
from ..events.kinds import BeganEvent, FinishedEvent, PlannedEvent, RunEvent, Tell
from ..events.log import EVENTS, opened_log
from ..events.wording import Heard, is_warning, log_line, planned_lines
from ..result import excerpt
from ..runs import RunFolder
from .control import RunControl

__all__ = ["logged", "recorded"]


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


@contextmanager
def recorded(control: RunControl, run: RunFolder, flow_run_id: str) -> Generator[RunControl]:
    """Yield a control whose listener keeps events in the run's folder, and then tells them on.

    The flow run's log gets its lines from them. The first event says that the run began. What ends
    the run by an error is told as its last one.
    """
    with opened_log(run.folder / EVENTS) as log, logged(flow_run_id) as write:

        def tell(event: RunEvent) -> None:
            kept = log.add(event, run.run_id)
            write(kept)
            control.listener(kept)

        tell(BeganEvent(resumed=log.was_begun, left_at=log.left_at))
        try:
            yield replace(control, listener=tell)
        except BaseException as error:
            tell(_left(error))
            raise


def _left(error: BaseException) -> FinishedEvent:
    cancelled = isinstance(error, RunCancelledError | asyncio.CancelledError)
    waiting = isinstance(error, RunWaitingError)
    return FinishedEvent(
        status="cancelled" if cancelled else "waiting" if waiting else "unfinished",
        problem=excerpt(str(error) or type(error).__name__),
    )
