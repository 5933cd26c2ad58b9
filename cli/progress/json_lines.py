"""Progress as lines of JSON on standard output, for programs."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from ...events.buffer import EventBuffer
from ...events.kinds import RunEvent
from ...events.line import to_line
from ...text import escaped
from .board import Board, reduce

__all__ = ["JsonScreen"]


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
