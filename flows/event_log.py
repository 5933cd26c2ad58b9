"""A run's events: numbered, stored in its folder and logged before any other sink gets them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Generator
from contextlib import contextmanager

from prefect.logging import get_run_logger

from ..errors import RunCancelledError
from ..models.streaming import streaming_to
from ..store.attempt import ToolCall, excerpt
from ..store.event_buffer import TextJoiner
from ..store.event_log import EventBus
from ..store.event_wording import LogState, is_warning, log_line, planned_lines
from ..store.events import (
    BeganEvent,
    EventSink,
    FinishedEvent,
    PlannedEvent,
    RunEvent,
    TextEvent,
    ToolEvent,
)
from ..store.protocol import RunStore
from ..store.question import RunWaitingError
from ..tasks.subagent.request import SubagentRequest

__all__ = ["call_sink", "event_bus", "logged", "text_events"]


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
def logged(flow_run_id: str) -> Generator[EventSink]:
    """Yield what writes events to the log of the flow run that is under way.

    At Prefect's level DEBUG its own lines are logged too.
    """
    logger, state = get_run_logger(), LogState()

    def write(event: RunEvent) -> None:
        state.handle(event)
        if (line := log_line(event, state)) is not None:
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
def event_bus(run: RunStore, flow_run_id: str, listener: EventSink) -> Generator[EventBus]:
    """Yield the bus of a run's events; its sinks are the flow run's log, and a listener.

    The first event says that the run began. What ends the run by an error is the last one.
    """
    with run.event_log() as log, logged(flow_run_id) as write:
        bus = EventBus(log, run.run_id)
        bus.add(write)
        bus.add(listener)
        bus.emit(BeganEvent(resumed=log.was_started, left_at=log.left_at))
        try:
            yield bus
        except BaseException as error:
            bus.emit(_finished_by(error))
            raise


def _finished_by(error: BaseException) -> FinishedEvent:
    cancelled = isinstance(error, RunCancelledError | asyncio.CancelledError)
    waiting = isinstance(error, RunWaitingError)
    return FinishedEvent(
        status="cancelled" if cancelled else "waiting" if waiting else "unfinished",
        problem=excerpt(str(error) or type(error).__name__),
    )


def call_sink(emit: EventSink, request: SubagentRequest) -> Callable[[ToolCall], None]:
    """Return what turns the calls of tools for a request into events."""
    about_run = request.looks_around

    def handle(call: ToolCall) -> None:
        emit(
            ToolEvent(
                step="" if about_run else request.step,
                attempt=0 if about_run else request.attempt,
                sample=request.sample,
                **call.model_dump(),
            )
        )

    return handle


@contextmanager
def text_events(emit: EventSink, event: TextEvent, *, of_providers: bool) -> Generator[None]:
    """Tell what models write inside; `event` is what all events of it have in common.

    `of_providers` says whether providers are asked to stream.
    """
    joiner = TextJoiner(emit, event)
    with streaming_to(joiner, of_providers=of_providers):
        try:
            yield
        finally:
            joiner.close()
