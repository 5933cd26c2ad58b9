"""The board of a run as it is drawn: a few lines that change while it goes on. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ..plan.ids import steps_above
from ..plan.schedule_events import OVER, StepStatus
from ..text import dollars, duration, one_line, plural, visible
from .board import Board, running_path
from .members import ranges, tally_words
from .page import Members, StepView

__all__ = ["draw", "shown_rows", "written_path"]


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
_FRESH = ("running", "asked", "failed", "ready", "succeeded", "waiting", "skipped", "cancelled")


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
        parts.append(Text(f"critical path so far: {written_path(path.steps)}", style="dim"))
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


def written_path(path: Sequence[str]) -> str:
    """Write the steps of a path; of a long one the first and the last."""
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
