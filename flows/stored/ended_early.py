"""Why a run ended without a result, as its last event says."""

from __future__ import annotations

import os
from contextlib import suppress

from ...errors import RunDamagedError
from ...events.kinds import FinishedEvent
from ...events.log import EVENTS, last_event
from ...runs import RunFolder

__all__ = ["ended_early"]

_TAIL_BYTES = 65_536
"""The last event of a run without a result is far shorter."""


def ended_early(run: RunFolder) -> str:
    """Return the error that ended a run's last process; "" if none did, or none is known of."""
    last = None
    with suppress(RunDamagedError), run.opened(EVENTS) as file:
        if file is not None:
            file.seek(-min(_TAIL_BYTES, file.seek(0, os.SEEK_END)), os.SEEK_END)
            last = last_event(file.read(_TAIL_BYTES))
    if isinstance(last, FinishedEvent) and last.status == "unfinished":
        return last.problem
    return ""
