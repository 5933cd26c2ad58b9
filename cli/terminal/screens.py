"""Progress as lines: plain ones for pipes and logs, JSON for programs."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Collection, Generator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from ...metrics.clock import run_time
from ...plan.ids import steps_above
from ...plan.schedule_events import OVER, StepStatus
from ...report.members import ranges, tally_words
from ...report.page import Members, StepView
from ...store.event_buffer import EventBuffer
from ...store.event_log import to_line
from ...store.event_wording import LogState, log_line
from ...store.events import BeganEvent, FinishedEvent, RunEvent, WaitEvent
from ...text import dollars, duration, escaped, one_line, plural, visible
from ..process import spinner_name
from .board import Board, reduce, running_path

__all__ = ["JsonScreen", "LiveScreen", "PlainScreen", "draw", "line_of", "shown_rows"]


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
            return f"{line}; critical path {_written(path.steps)} ({duration(path.seconds)})"
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


_LOOKS = {
    "waiting": ("dim", "waiting"),
    "asked": ("bold yellow", "waits for approval"),
    "ready": ("yellow", "ready"),
    "running": ("bold cyan", "running"),
    "succeeded": ("green", "done"),
    "failed": ("red", "failed"),
    "skipped": ("magenta", "skipped"),
    "cancelled": ("magenta", "cancelled"),
}
_PHASES = {
    "starting": "starting",
    "planning": "planning",
    "running": "running",
    "answering": "writing the answer",
    "finished": "finished",
}
_BAR = 20  # characters
_PARTS: tuple[tuple[tuple[StepStatus, ...], str, str], ...] = (
    (("succeeded",), "█", "green"),
    (("failed", "skipped", "cancelled"), "▒", "red"),
    (("running",), "░", "bold cyan"),
)
_ON_PATH = 12
_OTHER_LINES = 7  # of the display, without the steps
_FRESH = ("running", "asked", "failed", "ready", "succeeded", "waiting", "skipped", "cancelled")


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


def draw(board: Board, now: float, lines: int, spinner: RenderableType, note: str) -> Group:
    """Draw a board as it is at `now`, with at most `lines` of its steps."""
    head = Table.grid(padding=(0, 1))
    title = Text(one_line(board.objective, 70), style="bold")
    head.add_row(spinner, title, Text(f"{_phase(board)} {board.run_id}", style="dim"))
    parts: list[RenderableType] = [head]
    if board.rows:
        path = running_path(board, now)
        rows = board.shown
        shown = shown_rows(rows, lines)
        on_path = frozenset(above for name in path.steps for above in (name, *steps_above(name)))
        parts += [_steps(board, shown, on_path, now)]
        if hidden := len(rows) - len(shown):
            parts.append(Text(f"… and {plural(hidden, 'more step')}", style="dim"))
        parts.append(Text(_figures(board, rows, path.seconds, now)))
        parts.append(Text(f"critical path so far: {_written(path.steps)}", style="dim"))
    if note:
        parts.append(Text(visible(note), style="yellow"))
    return Group(*parts)


def _phase(board: Board) -> str:
    if board.waits_for_turn:
        return f"waiting for turn {board.turn} of the orchestrator"
    return _PHASES[board.phase]


def shown_rows(rows: Sequence[StepView], limit: int) -> list[StepView]:
    """Choose the steps there is room for, those where something happens first."""
    if len(rows) <= limit:
        return list(rows)
    chosen = sorted(range(len(rows)), key=lambda i: (_FRESH.index(rows[i].status), i))[:limit]
    return [rows[i] for i in sorted(chosen)]


def _written(path: Sequence[str]) -> str:
    more = f" > … > {path[-1]}" if len(path) > _ON_PATH else ""
    return f"{' > '.join(path[: _ON_PATH - 1] if more else path)}{more}" or "–"


def _steps(board: Board, rows: Sequence[StepView], path: Collection[str], now: float) -> Table:
    table = Table(box=None, padding=(0, 1), header_style="dim")
    for name in ("", "Step", "Who", "Status"):
        table.add_column(name, no_wrap=True)
    table.add_column("Time", justify="right", no_wrap=True)
    table.add_column("Tokens", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True, overflow="ellipsis")
    for row in rows:
        style, status = _LOOKS[row.status]
        status = row.status_words if row.status == "skipped" else status
        table.add_row(
            "*" if row.id in path else "",
            row.id,
            Text(one_line(row.state.agent, 30)),
            _bar(row.members)
            if row.members
            else Text("waiting" if _is_waiting(row) else status, style),
            duration(work) if (work := row.work_s(now)) or row.state.attempts else "",
            f"{row.tokens:,}" if row.tokens else "",
            Text(_detail(board, row), style="dim"),
        )
    return table


def _bar(members: Members) -> Text:
    """Draw how far the members of a step are: those done, failed, running, and the rest."""
    total = sum(members.statuses.values())
    line, used, passed = Text(), 0, 0
    for statuses, mark, style in _PARTS:
        count = sum(members.statuses.get(status, 0) for status in statuses)
        passed += count
        # Whatever there is of something shows, however little it is.
        end = min(_BAR, max(round(_BAR * passed / total), used + (count > 0)))
        line.append(mark * (end - used), style)
        used = max(used, end)
    line.append("·" * (_BAR - used), "dim")
    return line


def _is_waiting(row: StepView) -> bool:
    return row.running is not None and row.running.waiting_since is not None


def _detail(board: Board, row: StepView) -> str:
    if row.members is not None:
        lost = f": {ranges(row.members.failed)}" if row.members.failed else ""
        return one_line(f"{tally_words(row.members)}{lost}", 100)
    if row.status == "waiting":
        return f"for {', '.join(board.missing(row)[:6])}"
    if row.status == "ready":
        return one_line(row.why, 60) or "for a free slot"
    if row.running is not None and row.running.answered and not _is_waiting(row):
        return _end_of(row.running.answered, 60)
    return "" if row.status == "succeeded" else one_line(row.why, 60)


def _end_of(text: str, limit: int) -> str:
    line = " ".join(visible(text).split())
    return line if len(line) <= limit else f"…{line[1 - limit :]}"


def _figures(board: Board, rows: Sequence[StepView], path_s: float, now: float) -> str:
    done = sum(row.status in OVER for row in rows)
    running = sum(row.running is not None for row in board.rows.values())
    elapsed = now - (board.started_at if board.started_at is not None else now)
    return " · ".join(
        (
            f"{done} of {plural(len(rows), 'step')} over",
            f"{running} running",
            plural(board.tokens, "token"),
            *([dollars(board.cost_usd)] if board.cost_usd else []),
            duration(elapsed),
            f"critical path {duration(path_s)}",
        )
    )
