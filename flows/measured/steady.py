"""The clock of a run that goes on: it says where the machine's clock was set meanwhile."""

from __future__ import annotations

import logging
from collections.abc import Generator
from contextlib import contextmanager, suppress

from ...errors import RunDamagedError
from ...events.log import EVENTS, last_event
from ...measures.clock import clock_of_run
from ...runs import RunFolder
from ...text import duration
from ...untrusted.folder import MOST_TEXT_BYTES

__all__ = ["steady_clock"]

_LEAST_S = 2.0
"""Clocks are corrected by less all the time."""

_logger = logging.getLogger("prefect_swarm.runs")


@contextmanager
def steady_clock(run: RunFolder) -> Generator[None]:
    """Let time pass steadily, from where an earlier process of the run had come to."""
    with clock_of_run(_last_moment(run)) as clock:
        if clock.ahead_s > _LEAST_S:
            _logger.warning(
                "The clock is %s behind the last event of run %s: it was set back. How long the "
                "run stood still isn't known, and doesn't count.",
                duration(clock.ahead_s),
                run.run_id,
            )
        try:
            yield
        finally:
            if abs(by := clock.set_by_s()) > _LEAST_S:
                _logger.warning(
                    "While run %s went on, the clock was set %s by %s, or the machine slept. The "
                    "run's times and durations are as if it hadn't.",
                    run.run_id,
                    "ahead" if by > 0 else "back",
                    duration(abs(by)),
                )


def _last_moment(run: RunFolder) -> float:
    moment = run.started_at()
    with suppress(RunDamagedError):
        last = last_event(run.read_bytes(EVENTS, MOST_TEXT_BYTES) or b"")
        moment = max(moment, last.at if last else 0.0)
    return moment
