"""Reading a run's events, while it goes on and afterwards."""

from __future__ import annotations

import os
import re
from collections.abc import (
    AsyncGenerator,
    Awaitable,
    Callable,
    Collection,
    Generator,
    Iterator,
)
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from ..untrusted.folder import MOST_TEXT_BYTES
from ..untrusted.opening import require_size
from ..untrusted.reader import FolderReader
from .kinds import FinishedEvent, RunEvent
from .line import from_line

__all__ = ["EventReader", "events_of_kinds", "follow_events", "read_events"]

_CHUNK_BYTES = 1 << 20
# Quotes inside of texts are escaped, so this finds the event's own field.
_KIND = re.compile(rb'"kind":"(\w+)"')


class EventReader:
    """Reads a file of events that may still grow. A line that a kill cut off is passed over.

    Attributes:
        is_finished: Whether the last event that was read is the last of its process.
    """

    def __init__(self, path: Path, start: int = 1) -> None:
        """Begin with the event of the number `start`, or the first one after it."""
        self._path = path
        self._start = start
        self._offset = 0
        self.is_finished = False

    def fresh(self) -> Iterator[RunEvent]:
        """Yield the events that were added since the last call, as far as their lines are whole.

        Raises:
            RunDamagedError: The file is there and can't be read.
        """
        rest = b""
        with _opened(self._path) as file:
            if file is None:
                return
            file.seek(self._offset)
            # What is being written meanwhile is read by the next call.
            left = MOST_TEXT_BYTES
            while left > 0 and (chunk := file.read(min(_CHUNK_BYTES, left))):
                left -= len(chunk)
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    self._offset += len(line) + 1
                    if (event := self._event(line)) is not None:
                        yield event

    def _event(self, line: bytes) -> RunEvent | None:
        event = from_line(line) if line else None
        if event is None:
            return None
        self.is_finished = isinstance(event, FinishedEvent)
        return event if event.number >= self._start else None


def read_events(path: Path, start: int = 1) -> Iterator[RunEvent]:
    """Yield the events that a file has, from the number `start` on; none if there is no file.

    Raises:
        RunDamagedError: The file is there and can't be read.
    """
    return EventReader(path, start).fresh()


def events_of_kinds(path: Path, kinds: Collection[str]) -> Iterator[RunEvent]:
    """Yield the events of some kinds that a file has; none if there is no file.

    The others, which are most of a long file, are passed over without being read.

    Raises:
        RunDamagedError: The file is there and can't be read.
    """
    wanted = {kind.encode() for kind in kinds}
    with _opened(path) as file:
        for line in file or ():
            found = _KIND.search(line)
            if found and found[1] in wanted and (event := from_line(line)) is not None:
                yield event


@contextmanager
def _opened(path: Path) -> Generator[BinaryIO | None]:
    reader = FolderReader(path.parent)
    with reader.opened(path.name) as file:
        if file is not None:
            require_size(os.fstat(file.fileno()), MOST_TEXT_BYTES, path.name)
        yield file


async def follow_events(
    path: Path,
    *,
    is_alive: Callable[[], bool],
    wait: Callable[[], Awaitable[None]],
    start: int = 1,
) -> AsyncGenerator[RunEvent]:
    """Yield a run's events while it goes on, and end when it ends.

    Args:
        path: The file of its events; it may not be there yet.
        is_alive: Whether a process works on the run.
        wait: Passes the time until there may be more to read.
        start: The number of the first event to yield.
    """
    reader = EventReader(path, start)
    while True:
        # Asked first: what the process wrote before it ended is then read below.
        alive = is_alive()
        for event in reader.fresh():
            yield event
        if reader.is_finished or not alive:
            return
        await wait()
