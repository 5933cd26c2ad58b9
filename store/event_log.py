"""A run's events in its folder: lines of JSON, written as they happen and read meanwhile."""

from __future__ import annotations

import json
import logging
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
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any, BinaryIO, cast

from pydantic import Discriminator, TypeAdapter, ValidationError

from ..errors import SwarmError
from ..files import OWNER_ONLY, append_bytes
from ..metrics.clock import run_time
from ..untrusted.folder import MOST_TEXT_BYTES, FolderReader, UntrustedFolder
from ..untrusted.opening import require_size
from .events import (
    AnsweredEvent,
    AnsweringEvent,
    AskedEvent,
    BeganEvent,
    CutEvent,
    DecisionEvent,
    DirectingEvent,
    EndedEvent,
    EventSink,
    ExpandedEvent,
    ExploringEvent,
    FinishedEvent,
    GateEvent,
    MessageEvent,
    OtherEvent,
    PartEvent,
    PlannedEvent,
    PlanningEvent,
    ReadyEvent,
    RunEvent,
    SpentEvent,
    StartedEvent,
    TextEvent,
    ToolEvent,
    TurnEvent,
    UndoneEvent,
    WaitEvent,
)
from .protocol import EventFeed, EventWriter

__all__ = [
    "EventBus",
    "EventLog",
    "EventReader",
    "events_of_kinds",
    "follow_events",
    "from_line",
    "last_event",
    "opened_log",
    "read_events",
    "to_line",
]


_KNOWN: TypeAdapter[RunEvent] = TypeAdapter(
    Annotated[
        AnsweredEvent
        | AnsweringEvent
        | AskedEvent
        | BeganEvent
        | CutEvent
        | DecisionEvent
        | DirectingEvent
        | EndedEvent
        | ExpandedEvent
        | ExploringEvent
        | FinishedEvent
        | GateEvent
        | MessageEvent
        | PlannedEvent
        | PartEvent
        | PlanningEvent
        | ReadyEvent
        | SpentEvent
        | StartedEvent
        | TextEvent
        | ToolEvent
        | TurnEvent
        | UndoneEvent
        | WaitEvent,
        Discriminator("kind"),
    ]
)


def to_line(event: RunEvent) -> str:
    """Write an event as one line of JSON, without the line's end."""
    if isinstance(event, OtherEvent):
        return json.dumps(event.data)
    return event.model_dump_json()


def from_line(line: str | bytes) -> RunEvent | None:
    """Read an event; one of an unknown kind as an `OtherEvent`, and None from what is none.

    A line that was cut off is none.
    """
    try:
        return _KNOWN.validate_json(line)
    except ValidationError:
        pass
    try:
        found: object = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return _other(cast("dict[str, Any]", found)) if isinstance(found, dict) else None


def _other(found: dict[str, Any]) -> RunEvent | None:
    common = {name: found[name] for name in RunEvent.model_fields if name in found}
    try:
        return OtherEvent.model_validate({**common, "data": found})
    except ValidationError:
        return None


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
        self._last_at = 0.0

    def open(self) -> None:
        """Go on after what earlier processes of the run wrote."""
        with self._or_ended():
            last, self._size = self._begin()
            if last is not None:
                self._number, self._last_at = last.number, last.at

    def _begin(self) -> tuple[RunEvent | None, int]:
        """Return the last event that is there, and the bytes of all."""
        folder = UntrustedFolder(self._path.parent)
        self._descriptor = folder.open_to_append(self._path.name, OWNER_ONLY)
        data = folder.read(self._path.name, MOST_TEXT_BYTES)
        if data and not data.endswith(b"\n"):
            self._write(b"\n")  # What a kill cut off stays a line of its own.
        return last_event(data), len(data)

    @property
    def was_started(self) -> bool:
        """Whether an event was added, by this process or an earlier one."""
        return self._number > 0

    @property
    def left_at(self) -> float:
        """When the last event of an earlier process happened; 0 if there was none."""
        return self._last_at

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
        except (OSError, SwarmError) as error:
            why = error.strerror if isinstance(error, OSError) else None
            _logger.warning(
                "%s can't be written: %s. The run goes on; its events are not kept any more.",
                self._path,
                why or error,
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


class EventBus:
    """Passes a run's events to sinks, each event once it is numbered and in the log.

    The sinks get it in the order in which they were added.
    """

    def __init__(self, log: EventWriter, run: str) -> None:
        """Begin without sinks; `run` is the run's id."""
        self._log = log
        self._run = run
        self._sinks: list[EventSink] = []

    def add(self, sink: EventSink) -> None:
        """Pass the events from now on to one more sink."""
        self._sinks.append(sink)

    def remove(self, sink: EventSink) -> None:
        """Pass no more events to a sink; one that isn't there is no error."""
        with suppress(ValueError):
            self._sinks.remove(sink)

    def emit(self, event: RunEvent) -> None:
        """Write an event down, and pass it on."""
        logged = self._log.add(event, self._run)
        for sink in [*self._sinks]:
            sink(logged)


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
            remaining = MOST_TEXT_BYTES
            while remaining > 0 and (chunk := file.read(min(_CHUNK_BYTES, remaining))):
                remaining -= len(chunk)
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
    reader: EventFeed,
    *,
    is_alive: Callable[[], bool],
    wait: Callable[[], Awaitable[None]],
) -> AsyncGenerator[RunEvent]:
    """Yield a run's events while it goes on, and end when it ends.

    Args:
        reader: Reads its events; there may be none yet.
        is_alive: Whether a process works on the run.
        wait: Passes the time until there may be more to read.
    """
    while True:
        # Asked first: what the process wrote before it ended is then read below.
        alive = is_alive()
        for event in reader.fresh():
            yield event
        if reader.is_finished or not alive:
            return
        await wait()
