"""The state of a run as the terminal shows it: events go in, rows come out. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from ...flows.control import Progress
from ...parl.metrics import StepRun, critical_path
from ...result import Attempt

__all__ = ["Board", "BoardRow", "Path", "Status", "reduce", "running_path"]

Status = Literal["waiting", "ready", "running", "succeeded", "failed", "skipped", "cancelled"]
Phase = Literal["starting", "planning", "running", "answering", "finished"]
_OVER = frozenset({"succeeded", "failed", "skipped", "cancelled"})


@dataclass(frozen=True, slots=True)
class BoardRow:
    """One step.

    Attributes:
        agent: Who made the latest attempt that ended; until then, who is planned to.
        launched_at: When the latest attempt started, None if none runs.
        waiting_since: When it began to wait for its provider, None if it doesn't.
        waited_s: Seconds that the running attempt has waited before.
    """

    id: str
    agent: str
    upstream: tuple[str, ...]
    optional: bool = False
    status: Status = "waiting"
    attempts: tuple[Attempt, ...] = ()
    launched_at: float | None = None
    waiting_since: float | None = None
    waited_s: float = 0.0
    note: str = ""

    @property
    def tokens(self) -> int:
        """Tokens of the attempts that ended."""
        return sum(attempt.usage.tokens for attempt in self.attempts)

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
    """A run so far. `rows` stand in the plan's order."""

    objective: str
    run_id: str = ""
    phase: Phase = "starting"
    started_at: float | None = None
    rows: Mapping[str, BoardRow] = field(default_factory=dict[str, BoardRow])

    @property
    def tokens(self) -> int:
        """Tokens of all attempts that ended."""
        return sum(row.tokens for row in self.rows.values())

    def count(self, *statuses: Status) -> int:
        """Count the steps that have one of these statuses."""
        return sum(row.status in statuses for row in self.rows.values())

    def missing(self, row: BoardRow) -> tuple[str, ...]:
        """Return the steps that a row still waits for."""
        return tuple(name for name in row.upstream if self.rows[name].status not in _OVER)


def reduce(board: Board, progress: Progress) -> Board:
    """Return the board after an event."""
    match progress.kind:
        case "started":
            return replace(
                board, run_id=progress.text, started_at=progress.at, phase="planning", rows={}
            )
        case "planned":
            return _with_ready(replace(board, phase="running", rows=_rows(progress)))
        case "synthesising":
            return replace(board, phase="answering")
        case "finished":
            return replace(board, phase="finished")
        case _:
            row = board.rows.get(progress.step)
            if row is None:
                return board
            rows = {**board.rows, row.id: _changed(row, progress)}
            return _with_ready(replace(board, rows=rows))


def running_path(board: Board, now: float) -> Path:
    """Return the critical path so far, through the steps that ended or run at `now`."""
    ran = [row for row in board.rows.values() if row.attempts or row.launched_at is not None]
    runs = [StepRun(row.id, row.upstream, 0.0, 0.0, row.work_s(now), 0) for row in ran]
    steps = critical_path(runs)
    return Path(steps, sum(board.rows[name].work_s(now) for name in steps))


def _rows(progress: Progress) -> dict[str, BoardRow]:
    steps = progress.plan.steps if progress.plan is not None else ()
    return {step.id: BoardRow(step.id, step.agent, step.upstream, step.optional) for step in steps}


def _with_ready(board: Board) -> Board:
    rows = {
        row.id: replace(row, status="ready")
        if row.status == "waiting" and not board.missing(row)
        else row
        for row in board.rows.values()
    }
    return replace(board, rows=rows)


def _changed(row: BoardRow, progress: Progress) -> BoardRow:
    if progress.kind == "launched":
        return replace(
            row,
            status="running",
            launched_at=progress.at,
            waiting_since=None,
            waited_s=0.0,
            note=progress.text,
        )
    if progress.kind == "waiting":
        return replace(row, waiting_since=progress.at, note=progress.text)
    if progress.kind == "resumed":
        waited_s = row.wait_s(progress.at)
        return replace(row, waiting_since=None, waited_s=waited_s, note="")
    attempts, agent = row.attempts, row.agent
    # A step that was refused before its attempt began reports the attempt before.
    if progress.attempt is not None and len(attempts) < progress.attempt.number:
        attempts, agent = (*attempts, progress.attempt), progress.attempt.agent or agent
    changed = replace(
        row,
        agent=agent,
        attempts=attempts,
        launched_at=None,
        waiting_since=None,
        note=progress.text,
    )
    match progress.kind:
        case "retrying":
            return replace(changed, status="ready")
        case "succeeded" | "failed" | "skipped" | "cancelled":
            return replace(changed, status=progress.kind)
        case _:
            return row
