"""Progress as lines: plain ones for pipes and logs, JSON for programs."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from rich.console import Console, RenderableType
from rich.live import Live
from rich.spinner import Spinner

from ...metrics.clock import run_time
from ...report.board import Board, reduce, running_path
from ...report.drawn_board import draw, written_path
from ...store.event_buffer import EventBuffer
from ...store.event_log import to_line
from ...store.event_wording import LogState, log_line
from ...store.events import BeganEvent, FinishedEvent, RunEvent, WaitEvent
from ...text import duration, escaped, one_line
from ..process import spinner_name

__all__ = ["JsonScreen", "LiveScreen", "PlainScreen", "line_of"]


class PlainScreen:
    """Writes a line for each event that a person waits for."""

    def __init__(self, objective: str, write: Callable[[str], None]) -> None:
        self.board = Board(objective)
        self._state = LogState()
        self._write = write

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        return None

    @contextmanager
    def paused(self) -> Generator[None]:
        """Leave the terminal to the code that asks a person."""
        yield

    def handle(self, event: RunEvent) -> None:
        """Take an event."""
        self.board = reduce(self.board, event)
        self._state.handle(event)
        if line := line_of(self.board, event, self._state):
            self._write(line)

    def note(self, text: str) -> None:
        """Say something about the run as a whole."""
        self._write(text)


def line_of(board: Board, event: RunEvent, state: LogState) -> str:
    """Write an event as a line of a run's log with its seconds since the beginning.

    Args:
        board: The state after the event.
        event: What happened.
        state: What is known from the events up to it.

    Returns:
        The line; "" where it has none.
    """
    words = _words(board, event, state)
    elapsed = event.at - (board.started_at if board.started_at is not None else event.at)
    return f"{elapsed:7.1f} s  {words}" if words else ""


def _words(board: Board, event: RunEvent, state: LogState) -> str:
    line = log_line(event, state) or ""
    match event:
        case BeganEvent():
            return f"{line}: {one_line(board.objective)}"
        case FinishedEvent(status="completed" | "partial" | "failed"):
            path = running_path(board, event.at)
            return f"{line}; critical path {written_path(path.steps)} ({duration(path.seconds)})"
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
        # A second signal ends the process immediately, even if nobody reads.
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
        """Leave the terminal to the code that asks a person; the lines go elsewhere."""
        yield

    def handle(self, event: RunEvent) -> None:
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


_OTHER_LINES = 7  # of the display, without the steps


class LiveScreen:
    """Shows steps, who runs, tokens, time and the running critical path on stderr."""

    def __init__(self, objective: str, clock: Callable[[], float] = run_time) -> None:
        self.board = Board(objective)
        self._clock = clock
        self._note = ""
        self._spinner = Spinner(spinner_name())
        # A file of its own: while llama.cpp reads a grammar, stderr leads elsewhere for a moment.
        self._file = os.fdopen(
            os.dup(sys.stderr.fileno()), "w", encoding=sys.stderr.encoding, errors="replace"
        )
        self._console = Console(file=self._file, markup=False, emoji=False)
        self._live = Live(
            console=self._console,
            get_renderable=self._draw,
            refresh_per_second=4,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self._live.stop()
        self._file.close()

    @contextmanager
    def paused(self) -> Generator[None]:
        """Leave the terminal to the code that asks a person."""
        self._live.stop()
        try:
            yield
        finally:
            self._live.start()

    def handle(self, event: RunEvent) -> None:
        """Take an event."""
        self.board = reduce(self.board, event)
        if isinstance(event, WaitEvent) and not event.step:
            self._note = event.words

    def note(self, text: str) -> None:
        """Say something about the run as a whole."""
        self._note = text

    def _draw(self) -> RenderableType:
        lines = max(3, self._console.height - _OTHER_LINES)
        return draw(self.board, self._clock(), lines, self._spinner, self._note)
