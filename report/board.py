"""The state of a run as it is shown while it goes on: events go in, rows come out. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from ..metrics.critical_path import critical_path
from ..plan.schedule_events import OVER, StepStatus
from ..store.event_wording import attempt_words
from ..store.events import (
    AnsweredEvent,
    AnsweringEvent,
    AskedEvent,
    BeganEvent,
    DirectingEvent,
    EndedEvent,
    ExpandedEvent,
    FinishedEvent,
    PlannedEvent,
    RunEvent,
    SpentEvent,
    StartedEvent,
    TextEvent,
    TurnEvent,
    WaitEvent,
)
from ..store.step import StepState
from .members import folded, needs_within
from .page import AttemptView, StepView

__all__ = ["Board", "Path", "reduce", "running_path"]


Phase = Literal["starting", "planning", "running", "answering", "finished"]
_TEXT_CHARS = 300


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
        turn: The turn of the orchestrator that is asked for; 0 if none is.
    """

    objective: str
    run_id: str = ""
    phase: Phase = "starting"
    started_at: float | None = None
    rows: Mapping[str, StepView] = field(default_factory=dict[str, StepView])
    cost_usd: float | None = None
    turn: int = 0

    @property
    def tokens(self) -> int:
        """Tokens of all attempts, those that still run among them."""
        return sum(row.tokens for row in self.rows.values())

    def count(self, *statuses: StepStatus) -> int:
        """Count the steps that have one of these statuses."""
        return sum(row.status in statuses for row in self.rows.values())

    @property
    def waits_for_turn(self) -> bool:
        """Whether the orchestrator is asked, and nothing else goes on."""
        is_idle = not any(row.status in ("running", "asked") for row in self.rows.values())
        return bool(self.turn) and self.phase == "running" and is_idle

    @property
    def shown(self) -> tuple[StepView, ...]:
        """The rows of the plan's steps, each with what its members came to so far."""
        if all(not row.parent for row in self.rows.values()):
            return tuple(self.rows.values())
        return folded([*self.rows.values()])

    def missing(self, row: StepView) -> tuple[str, ...]:
        """Return the steps that a row still waits for."""
        rows = self.rows
        return tuple(n for n in row.upstream if n in rows and rows[n].status not in OVER)


def reduce(board: Board, event: RunEvent) -> Board:
    """Return the board after an event."""
    reduced, turn = _reduced(board, event), _turn_after(board.turn, event)
    return reduced if turn == reduced.turn else replace(reduced, turn=turn)


def _reduced(board: Board, event: RunEvent) -> Board:
    match event:
        case BeganEvent():
            return replace(board, run_id=event.run, started_at=event.at, phase="planning", rows={})
        case PlannedEvent():
            rows = _rows(event, board.rows)
            return _with_ready(replace(board, phase="running", rows=rows))
        case ExpandedEvent():
            return _with_ready(replace(board, rows=_expanded(event, board.rows)))
        case TurnEvent():
            # One that might have written the answer may have assigned more.
            phase = board.phase if event.finished else "running"
            rows = {**board.rows, **_rows(event, {})}
            return _with_ready(replace(board, rows=rows, phase=phase))
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
                row = _row(event.step)
            if row is None:
                return board
            board = replace(board, rows={**board.rows, row.id: _changed(row, event)})
            # Nothing becomes ready by other events, and of these there are many.
            return _with_ready(board) if isinstance(event, EndedEvent) else board


def _turn_after(turn: int, event: RunEvent) -> int:
    match event:
        case DirectingEvent():
            return event.number_of_turn
        case BeganEvent() | TurnEvent() | FinishedEvent():
            return 0
        case AskedEvent() if event.is_about_turn:
            return 0
        case _:
            return turn


def running_path(board: Board, now: float) -> Path:
    """Return the critical path so far, through the steps that ended or run at `now`."""
    rows = board.rows
    needs = needs_within(
        {row.id: row.upstream for row in rows.values()},
        {row.id: row.parent for row in rows.values()},
    )
    has_run = {n for n, row in rows.items() if row.state.attempts or row.running is not None}
    parents = {row.parent for row in rows.values()}
    seconds = {n: rows[n].work_s(now) for n in needs if n in has_run or n in parents}
    steps = tuple(name for name in critical_path(seconds, needs) if name in has_run)
    return Path(steps, sum(seconds[name] for name in steps))


def _expanded(event: ExpandedEvent, before: Mapping[str, StepView]) -> dict[str, StepView]:
    """Return the rows with the members that a step has now; it goes on until these are over."""
    rows = dict(before)
    if (row := rows.get(event.step)) is not None and row.status not in OVER:
        rows[row.id] = replace(row, status="running", why="")
    for step in event.steps:
        row = _row(step.id, step.agent, step.upstream, step.optional)
        update = {"parent": event.step, "label": step.label}
        rows[step.id] = replace(row, state=row.state.model_copy(update=update))
    return rows


def _rows(event: PlannedEvent | TurnEvent, before: Mapping[str, StepView]) -> dict[str, StepView]:
    """Return the rows of a plan; steps that started before it was there go on."""
    rows = {
        step.id: _row(step.id, step.agent, step.upstream, step.optional) for step in event.steps
    }
    for name, row in before.items():
        if name in rows and row.status == "running":
            planned = rows[name]
            state = row.state.model_copy(update={"agent": planned.state.agent})
            rows[name] = replace(
                row, state=state, upstream=planned.upstream, optional=planned.optional
            )
    return rows


def _row(
    name: str, agent: str = "", upstream: tuple[str, ...] = (), optional: bool = False
) -> StepView:
    # Not validated: it is shown as it is, whatever the run's log says.
    state = StepState.model_construct(id=name, agent=agent, status="unfinished")
    return StepView(state, upstream, "waiting", optional=optional)


def _with_ready(board: Board) -> Board:
    rows = {
        row.id: replace(row, status="ready")
        if row.status == "waiting" and not board.missing(row)
        else row
        for row in board.rows.values()
    }
    return replace(board, rows=rows)


def _changed(row: StepView, event: RunEvent) -> StepView:
    running = row.running
    match event:
        case StartedEvent():
            started = AttemptView(event.attempt, launched_at=event.at)
            note = attempt_words(event)
            return replace(row, status="running", why=note, running=started)
        case WaitEvent(kind="waiting"):
            waits = running and replace(running, waiting_since=event.at)
            return replace(row, running=waits, why=event.words)
        case WaitEvent():
            goes_on = running and replace(
                running, waiting_since=None, waited_s=running.wait_s(event.at)
            )
            return replace(row, running=goes_on, why="")
        case TextEvent() if running is not None:
            return replace(row, running=_written(running, event))
        case EndedEvent():
            return _ended(row, event)
        case AskedEvent():
            return replace(row, status="asked", why=event.title, running=None)
        case AnsweredEvent() if row.status == "asked":
            return replace(row, status="ready", why=f"{event.verdict} by a person")
        case _:
            return row


def _written(running: AttemptView, event: TextEvent) -> AttemptView:
    writer = (event.sample, event.request)
    before = running.answered if writer == running.writer else ""
    text = (before + event.text)[-_TEXT_CHARS:]
    return replace(running, answered=text, written=event.tokens, writer=writer)


def _ended(row: StepView, event: EndedEvent) -> StepView:
    state = row.state
    # A step that was refused before its attempt began reports the attempt before.
    if len(state.attempts) < event.attempt:
        made = (*state.attempts, event.as_attempt())
        state = state.model_copy(update={"attempts": made, "agent": event.agent or state.agent})
    status: StepStatus = "ready" if event.kind == "retrying" else event.kind
    return replace(row, state=state, status=status, why=event.reason, running=None)
