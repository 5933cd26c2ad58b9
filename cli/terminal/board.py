"""The state of a run as the terminal shows it: events go in, rows come out. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from ...metrics.critical_path import critical_path
from ...plan.schedule import OVER, StepStatus
from ...store.events import (
    AnsweredEvent,
    AnsweringEvent,
    AskedEvent,
    BeganEvent,
    EndedEvent,
    FinishedEvent,
    PlannedEvent,
    RunEvent,
    SpentEvent,
    StartedEvent,
    TextEvent,
    WaitEvent,
)

__all__ = ["Board", "BoardRow", "Path", "reduce", "running_path"]


Phase = Literal["starting", "planning", "running", "answering", "finished"]
_TEXT_CHARS = 300


@dataclass(frozen=True, slots=True)
class BoardRow:
    """One step.

    Attributes:
        agent: Who made the latest attempt that ended; until then, who is planned to.
        launched_at: When the latest attempt started, None if none runs.
        waiting_since: When it began to wait for its provider, None if it doesn't.
        waited_s: Seconds that the running attempt has waited before.
        text: The end of what the running attempt has written.
        written: Tokens that it has written, estimated.
        writer: The candidate and request that wrote it.
    """

    id: str
    agent: str
    upstream: tuple[str, ...]
    optional: bool = False
    status: StepStatus = "waiting"
    attempts: tuple[EndedEvent, ...] = ()
    launched_at: float | None = None
    waiting_since: float | None = None
    waited_s: float = 0.0
    note: str = ""
    text: str = ""
    written: int = 0
    writer: tuple[int, int] = (0, 0)

    @property
    def tokens(self) -> int:
        """Tokens of the attempts that ended, and what the running one has written."""
        return sum(attempt.tokens for attempt in self.attempts) + self.written

    def work_s(self, now: float) -> float:
        """Seconds worked so far; what still runs counts up to `now`."""
        past = sum(attempt.duration_s for attempt in self.attempts)
        if self.launched_at is None:
            return past
        return past + max(0.0, now - self.launched_at - self.wait_s(now))

    def wait_s(self, now: float) -> float:
        """Seconds that the running attempt has waited for its provider."""
        since = self.waiting_since
        return self.waited_s + (max(0.0, now - since) if since is not None else 0.0)


@dataclass(frozen=True, slots=True)
class Path:
    """The longest chain of steps so far, by seconds of work."""

    steps: tuple[str, ...]
    seconds: float


@dataclass(frozen=True, slots=True)
class Board:
    """A run so far. `rows` stand in the plan's order.

    Attributes:
        cost_usd: What it cost so far, None where no price is known.
    """

    objective: str
    run_id: str = ""
    phase: Phase = "starting"
    started_at: float | None = None
    rows: Mapping[str, BoardRow] = field(default_factory=dict[str, BoardRow])
    cost_usd: float | None = None

    @property
    def tokens(self) -> int:
        """Tokens of all attempts, those that still run among them."""
        return sum(row.tokens for row in self.rows.values())

    def count(self, *statuses: StepStatus) -> int:
        """Count the steps that have one of these statuses."""
        return sum(row.status in statuses for row in self.rows.values())

    def missing(self, row: BoardRow) -> tuple[str, ...]:
        """Return the steps that a row still waits for."""
        return tuple(name for name in row.upstream if self.rows[name].status not in OVER)


def reduce(board: Board, event: RunEvent) -> Board:
    """Return the board after an event."""
    match event:
        case BeganEvent():
            return replace(board, run_id=event.run, started_at=event.at, phase="planning", rows={})
        case PlannedEvent():
            rows = _rows(event, board.rows)
            return _with_ready(replace(board, phase="running", rows=rows))
        case AnsweringEvent():
            return replace(board, phase="answering")
        case SpentEvent():
            return replace(board, cost_usd=event.cost_usd)
        case FinishedEvent():
            return replace(board, phase="finished")
        case _:
            row = board.rows.get(event.step)
            if row is None and board.phase == "planning" and isinstance(event, StartedEvent):
                # It is complete in a plan that is still being written.
                row = BoardRow(event.step, agent="", upstream=())
            if row is None:
                return board
            rows = {**board.rows, row.id: _changed(row, event)}
            return _with_ready(replace(board, rows=rows))


def running_path(board: Board, now: float) -> Path:
    """Return the critical path so far, through the steps that ended or run at `now`."""
    ran = [row for row in board.rows.values() if row.attempts or row.launched_at is not None]
    seconds = {row.id: row.work_s(now) for row in ran}
    steps = critical_path(seconds, {row.id: row.upstream for row in ran})
    return Path(steps, sum(seconds[name] for name in steps))


def _rows(event: PlannedEvent, before: Mapping[str, BoardRow]) -> dict[str, BoardRow]:
    """Return the rows of a plan; steps that started before it was there go on."""
    rows = {
        step.id: BoardRow(step.id, step.agent, step.upstream, step.optional) for step in event.steps
    }
    for name, row in before.items():
        if name in rows and row.status == "running":
            planned = rows[name]
            rows[name] = replace(
                row, agent=planned.agent, upstream=planned.upstream, optional=planned.optional
            )
    return rows


def _with_ready(board: Board) -> Board:
    rows = {
        row.id: replace(row, status="ready")
        if row.status == "waiting" and not board.missing(row)
        else row
        for row in board.rows.values()
    }
    return replace(board, rows=rows)


def _changed(row: BoardRow, event: RunEvent) -> BoardRow:
    match event:
        case StartedEvent():
            return replace(
                row,
                status="running",
                launched_at=event.at,
                waiting_since=None,
                waited_s=0.0,
                note=f"attempt {event.attempt} on {event.tier}",
                text="",
                written=0,
            )
        case WaitEvent(kind="waiting"):
            return replace(row, waiting_since=event.at, note=event.words)
        case WaitEvent():
            return replace(row, waiting_since=None, waited_s=row.wait_s(event.at), note="")
        case TextEvent():
            return _written(row, event)
        case EndedEvent():
            return _ended(row, event)
        case AskedEvent():
            return _stopped(row, "asked", event.title)
        case AnsweredEvent() if row.status == "asked":
            return replace(row, status="ready", note=f"{event.verdict} by a person")
        case _:
            return row


def _written(row: BoardRow, event: TextEvent) -> BoardRow:
    if row.launched_at is None:
        return row
    writer = (event.sample, event.request)
    before = row.text if writer == row.writer else ""
    text = (before + event.text)[-_TEXT_CHARS:]
    return replace(row, text=text, written=event.tokens, writer=writer)


def _ended(row: BoardRow, event: EndedEvent) -> BoardRow:
    attempts, agent = row.attempts, row.agent
    # A step that was refused before its attempt began reports the attempt before.
    if len(attempts) < event.attempt:
        attempts, agent = (*attempts, event), event.agent or agent
    status: StepStatus = "ready" if event.kind == "retrying" else event.kind
    return _stopped(replace(row, agent=agent, attempts=attempts), status, event.reason)


def _stopped(row: BoardRow, status: StepStatus, note: str) -> BoardRow:
    return replace(
        row,
        status=status,
        launched_at=None,
        waiting_since=None,
        note=note,
        text="",
        written=0,
    )
