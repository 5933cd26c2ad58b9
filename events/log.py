"""A run's events in its folder: whole lines, as they happen, within a bound."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from ..files import OWNER_ONLY, append_bytes
from ..measures.clock import run_time
from ..untrusted.folder import MOST_TEXT_BYTES, UntrustedFolder
from .kinds import CutEvent, FinishedEvent, RunEvent, TextEvent
from .line import from_line, to_line

__all__ = ["EVENTS", "EventLog", "last_event", "opened_log"]

EVENTS = "events.jsonl"
"""The file, in the run's folder."""
_TEXT_BYTES, _MOST_BYTES = 12_000_000, 16_000_000

_logger = logging.getLogger("prefect_swarm.runs")


def last_event(data: bytes) -> RunEvent | None:
    """Return the last event of a log; None if it has none."""
    for line in reversed(data.split(b"\n")):
        if line and (event := from_line(line)) is not None:
            return event
    return None


class EventLog:
    """Numbers the events of a run and adds them to its file; made by `opened_log`.

    A disk that is full, or any other trouble with the file, ends the file and never the run.
    """

    def __init__(
        self,
        path: Path,
        *,
        text_bytes: int = _TEXT_BYTES,
        most_bytes: int = _MOST_BYTES,
        clock: Callable[[], float] = run_time,
    ) -> None:
        """Take the file's path.

        Args:
            path: The file; its folder has to be there.
            text_bytes: The file's size from which on texts are left out.
            most_bytes: The size from which on all is left out but the last event.
            clock: Gives the time, in seconds since the epoch.
        """
        self._path = path
        self._bounds = {"text": text_bytes, "all": most_bytes}
        self._clock = clock
        self._cut: set[str] = set()
        self._descriptor: int | None = None
        self._size = 0
        self._number = 0
        self._left_at = 0.0

    def open(self) -> None:
        """Go on after what earlier processes of the run wrote."""
        with self._or_ended():
            folder = UntrustedFolder(self._path.parent)
            self._descriptor = folder.open_to_append(self._path.name, OWNER_ONLY)
            data = folder.read(self._path.name, MOST_TEXT_BYTES)
            if (last := last_event(data)) is not None:
                self._number, self._left_at = last.number, last.at
            self._size = len(data)
            if data and not data.endswith(b"\n"):
                self._write(b"\n")  # What a kill cut off stays a line of its own.

    @property
    def was_begun(self) -> bool:
        """Whether an event was added, by this process or an earlier one."""
        return self._number > 0

    @property
    def left_at(self) -> float:
        """When the last event of an earlier process happened; 0 if there was none."""
        return self._left_at

    def close(self) -> None:
        """Close the file."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def add(self, event: RunEvent, run: str) -> RunEvent:
        """Number an event, write it down, and return it as it was written."""
        event = self._numbered(event, run)
        what = "text" if isinstance(event, TextEvent) else "all"
        line = f"{to_line(event)}\n".encode()
        if isinstance(event, FinishedEvent) or not self._is_over(what, len(line)):
            self._add(line)
        elif what not in self._cut:
            self._cut.add(what)
            self._add(f"{to_line(CutEvent.in_place_of(event, what))}\n".encode())
        return event

    def _numbered(self, event: RunEvent, run: str) -> RunEvent:
        self._number += 1
        stamp = {"number": self._number, "run": run, "at": event.at or self._clock()}
        return event.model_copy(update=stamp)

    def _is_over(self, what: str, more: int) -> bool:
        return what in self._cut or self._size + more > self._bounds[what]

    def _add(self, line: bytes) -> None:
        with self._or_ended():
            self._write(line)

    def _write(self, data: bytes) -> None:
        if self._descriptor is not None:
            append_bytes(self._descriptor, data)
            self._size += len(data)

    @contextmanager
    def _or_ended(self) -> Generator[None]:
        try:
            yield
        except OSError as error:
            _logger.warning(
                "%s can't be written: %s. The run goes on; its events are not kept any more.",
                self._path,
                error.strerror or error,
            )
            with suppress(OSError):
                self.close()


@contextmanager
def opened_log(path: Path) -> Generator[EventLog]:
    """Yield a run's log; it is closed at the end."""
    log = EventLog(path)
    log.open()
    try:
        yield log
    finally:
        log.close()
