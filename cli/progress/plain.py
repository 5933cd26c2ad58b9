"""Progress as plain lines, for pipes and logs."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from ...events.kinds import (
    AnsweredEvent,
    AnsweringEvent,
    AskedEvent,
    BeganEvent,
    EndedEvent,
    FinishedEvent,
    PlannedEvent,
    RunEvent,
    StartedEvent,
    WaitEvent,
)
from ...text import duration, one_line, plural
from .board import Board, reduce, running_path

__all__ = ["PlainScreen", "line_of"]

_VERBS = {
    "started": "started",
    "retrying": "tries again",
    "succeeded": "done",
    "failed": "failed",
    "skipped": "skipped",
    "cancelled": "cancelled",
}


class PlainScreen:
    """Writes a line for each event that a person waits for."""

    def __init__(self, objective: str, write: Callable[[str], None]) -> None:
        self.board = Board(objective)
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
        if line := line_of(self.board, event):
            self._write(line)

    def note(self, text: str) -> None:
        """Say something about the run as a whole."""
        self._write(text)


def line_of(board: Board, event: RunEvent) -> str:
    """Write an event, "" where it has no line; `board` is the state after it."""
    words = _words(board, event)
    elapsed = event.at - (board.started_at if board.started_at is not None else event.at)
    return f"{elapsed:7.1f} s  {words}" if words else ""


def _words(board: Board, event: RunEvent) -> str:
    match event:
        case BeganEvent():
            return f"Run {board.run_id}: {one_line(board.objective)}"
        case PlannedEvent():
            chains = sum(not row.upstream for row in board.rows.values())
            return f"Plan of {plural(len(board.rows), 'step')}, {chains} of them can start at once"
        case AnsweringEvent(attempt=0 | 1):
            return "Writing the answer"
        case FinishedEvent(status="completed" | "partial" | "failed"):
            path = running_path(board, event.at)
            return f"Finished; critical path {' > '.join(path.steps)} ({duration(path.seconds)})"
        case AskedEvent():
            return f"Waits for approval of {one_line(event.title, 200)}"
        case AnsweredEvent():
            return f"{event.question} is {event.verdict}{_why(event)}"
        case WaitEvent(kind="waiting", step=""):
            return one_line(event.words[:1].upper() + event.words[1:], 300)
        case StartedEvent() | EndedEvent() | WaitEvent(kind="waiting"):
            return _step_line(board, event)
        case _:
            return ""


def _why(event: AnsweredEvent) -> str:
    return f": {one_line(event.why, 200)}" if event.why else ""


def _step_line(board: Board, event: StartedEvent | EndedEvent | WaitEvent) -> str:
    row = board.rows.get(event.step)
    who = f"{event.step} {one_line(row.agent, 40)}".rstrip() if row else event.step
    if isinstance(event, WaitEvent):
        return f"{who}: {one_line(event.words, 300)}"
    parts = [f"{who}: {_VERBS[event.kind]}"]
    if row and event.kind == "succeeded" and not event.reason:
        parts.append(f"{duration(row.work_s(event.at))}, {plural(row.tokens, 'token')}")
    if isinstance(event, StartedEvent):
        parts.append(f"attempt {event.attempt} on {event.tier}")
    elif event.reason:
        parts.append(one_line(event.reason, 300))
    return " · ".join(parts)
