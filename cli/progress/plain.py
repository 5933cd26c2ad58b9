"""Progress as plain lines, for pipes and logs."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Self

from ...flows.control import Progress
from ...text import duration, one_line, plural
from .board import Board, reduce, running_path

__all__ = ["PlainScreen", "line_of"]

_VERBS = {
    "launched": "started",
    "retrying": "tries again",
    "succeeded": "done",
    "failed": "failed",
    "skipped": "skipped",
    "cancelled": "cancelled",
}


class PlainScreen:
    """Writes a line for each event."""

    def __init__(self, objective: str, write: Callable[[str], None]) -> None:
        self.board = Board(objective)
        self._write = write

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        return None

    def hear(self, progress: Progress) -> None:
        """Take an event."""
        self.board = reduce(self.board, progress)
        if progress.kind != "resumed":
            self._write(line_of(self.board, progress))

    def note(self, text: str) -> None:
        """Say something about the run as a whole."""
        self._write(text)


def line_of(board: Board, progress: Progress) -> str:
    """Write an event; `board` is the state after it."""
    elapsed = progress.at - (board.started_at if board.started_at is not None else progress.at)
    return f"{elapsed:7.1f} s  {_said(board, progress)}"


def _said(board: Board, progress: Progress) -> str:
    match progress.kind:
        case "started":
            return f"Run {board.run_id}: {one_line(board.objective)}"
        case "planned":
            chains = sum(not row.upstream for row in board.rows.values())
            return f"Plan of {plural(len(board.rows), 'step')}, {chains} of them can start at once"
        case "synthesising":
            return "Writing the answer"
        case "finished":
            path = running_path(board, progress.at)
            return f"Finished; critical path {' > '.join(path.steps)} ({duration(path.seconds)})"
        case "waiting" if not progress.step:
            return one_line(progress.text[:1].upper() + progress.text[1:], 300)
        case _:
            return _step_line(board, progress)


def _step_line(board: Board, progress: Progress) -> str:
    row = board.rows.get(progress.step)
    who = f"{progress.step} {one_line(row.agent, 40)}" if row else progress.step
    if progress.kind == "waiting":
        return f"{who}: {one_line(progress.text, 300)}"
    parts = [f"{who}: {_VERBS[progress.kind]}"]
    if row and progress.kind == "succeeded":
        parts.append(f"{duration(row.work_s(progress.at))}, {plural(row.tokens, 'token')}")
    if progress.text:
        parts.append(one_line(progress.text, 300))
    return " · ".join(parts)
