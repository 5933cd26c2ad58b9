"""Progress as lines: plain ones for pipes and logs, JSON for programs."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from ...events.buffer import EventBuffer
from ...events.kinds import BeganEvent, FinishedEvent, RunEvent
from ...events.log import to_line
from ...events.wording import Heard, log_line
from ...text import duration, escaped, one_line
from .board import Board, reduce, running_path

__all__ = ["JsonScreen", "PlainScreen", "line_of"]


class PlainScreen:
    """Writes a line for each event that a person waits for."""

    def __init__(self, objective: str, write: Callable[[str], None]) -> None:
        self.board = Board(objective)
        self._heard = Heard()
        self._write = write

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        return None

    @contextmanager
    def paused(self) -> Generator[None]:
        """Leave the terminal to whoever asks a person."""
        yield

    def hear(self, event: RunEvent) -> None:
        """Take an event."""
        self.board = reduce(self.board, event)
        self._heard.hear(event)
        if line := line_of(self.board, event, self._heard):
            self._write(line)

    def note(self, text: str) -> None:
        """Say something about the run as a whole."""
        self._write(text)


def line_of(board: Board, event: RunEvent, heard: Heard) -> str:
    """Write an event as a line of a run's log with its seconds since the beginning.

    Args:
        board: The state after the event.
        event: What happened.
        heard: What is known from the events up to it.

    Returns:
        The line; "" where it has none.
    """
    words = _words(board, event, heard)
    elapsed = event.at - (board.started_at if board.started_at is not None else event.at)
    return f"{elapsed:7.1f} s  {words}" if words else ""


def _words(board: Board, event: RunEvent, heard: Heard) -> str:
    line = log_line(event, heard) or ""
    match event:
        case BeganEvent():
            return f"{line}: {one_line(board.objective)}"
        case FinishedEvent(status="completed" | "partial" | "failed"):
            path = running_path(board, event.at)
            return f"{line}; critical path {' > '.join(path.steps)} ({duration(path.seconds)})"
        case FinishedEvent():
            return ""  # The command's own last words say it.
        case _:
            return line


class JsonScreen:
    """Writes a line for each event, in a thread of its own: the run never waits for who reads."""

    def __init__(self, objective: str, write_note: Callable[[str], None]) -> None:
        self.board = Board(objective)
        self.note = write_note
        self._buffer = EventBuffer()
        # A second signal ends the process at once, whoever doesn't read.
        self._thread = threading.Thread(target=self._write, name="events", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self._buffer.close()
        self._thread.join()

    @contextmanager
    def paused(self) -> Generator[None]:
        """Leave the terminal to whoever asks a person; the lines go elsewhere."""
        yield

    def hear(self, event: RunEvent) -> None:
        """Take an event."""
        self.board = reduce(self.board, event)
        self._buffer.put(event)

    def _write(self) -> None:
        try:
            while events := self._buffer.wait():
                sys.stdout.write("".join(f"{escaped(to_line(event))}\n" for event in events))
                sys.stdout.flush()
        except (OSError, ValueError):
            self._buffer.close()  # Nobody reads any more, which is none of the run's business.
