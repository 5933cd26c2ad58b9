"""Says it when Prefect's client waits for a busy server: by itself it waits without a word.

It waits 2, 4, 8 and 16 seconds. Runs that begin at once on one SQLite do that to a server.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable

__all__ = ["BackoffNotes", "say_backoffs"]

_logger = logging.getLogger("prefect_swarm.server")
_CLIENT = "prefect.client"
_SECONDS = re.compile(r"Another attempt will be made in ([\d.]+) ?s")
_STATUS = re.compile(r"status code (\d{3})")


class BackoffNotes(logging.Filter):
    """Reads what the client logs for developers; one sentence for all that wait at a time."""

    def __init__(self, was_enabled: Callable[[], bool], clock: Callable[[], float]) -> None:
        """Take whether what is read is to be logged, too, and seconds that only rise."""
        super().__init__()
        self._was_enabled, self._clock = was_enabled, clock
        self._until = 0.0

    def filter(self, record: logging.LogRecord) -> bool:
        """Say it, and let the record go where it would have gone."""
        message = record.getMessage()
        if found := _SECONDS.search(message):
            self._say(float(found[1]), _STATUS.search(message))
        return record.levelno > logging.DEBUG or self._was_enabled()

    def _say(self, seconds: float, status: re.Match[str] | None) -> None:
        now = self._clock()
        if now < self._until:
            return
        self._until = now + seconds
        why = f"is busy: it answers {status[1]}" if status else "gives no answer"
        _logger.warning("The Prefect server %s. It is asked again in %.0f s.", why, seconds)


def say_backoffs() -> None:
    """Have what Prefect's client waits for said from now on, in this process."""
    client = logging.getLogger(_CLIENT)
    if any(isinstance(each, BackoffNotes) for each in client.filters):
        client.setLevel(logging.DEBUG)  # Prefect may have set it anew.
        return
    own, parent = client.level, client.parent

    def was_enabled() -> bool:
        level = own or (parent.getEffectiveLevel() if parent else logging.WARNING)
        return level <= logging.DEBUG

    client.addFilter(BackoffNotes(was_enabled, time.monotonic))
    client.setLevel(logging.DEBUG)
