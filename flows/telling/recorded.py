"""A run's events are numbered and kept in its folder before anybody hears of them."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace

from ...approvals.waiting import RunWaitingError
from ...errors import RunCancelledError
from ...events.kinds import BeganEvent, FinishedEvent, RunEvent
from ...events.log import EVENTS, opened_log
from ...result import excerpt
from ...runs import RunFolder
from ..control import RunControl
from .logged import logged

__all__ = ["recorded"]


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
