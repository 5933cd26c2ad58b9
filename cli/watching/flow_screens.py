"""A flow run of a Prefect server on a terminal: a simple board, or plain lines."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from ...text import one_line, plural, visible
from .flow_run import FlowSnapshot, TaskSnapshot, changes, flow_words

__all__ = ["FlowBoard", "FlowLines", "draw_flow"]

_STYLES = {
    "COMPLETED": "green",
    "FAILED": "red",
    "CRASHED": "red",
    "CANCELLED": "magenta",
    "RUNNING": "bold cyan",
    "PAUSED": "bold yellow",
}
_OTHER_LINES = 5  # of the board, beside the task runs


class FlowBoard:
    """Draws a flow run's newest task runs on stderr, once each time that it is shown."""

    def __init__(self, note: str, clock: Callable[[], float] = time.time) -> None:
        self._note = note
        self._clock = clock
        self._console = Console(stderr=True, markup=False, emoji=False)
        self._live = Live(
            console=self._console,
            auto_refresh=False,
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

    def note(self, text: str) -> None:
        """Say something about the flow run as a whole, the next time that it is shown."""
        self._note = text

    def show(self, flow: FlowSnapshot) -> None:
        """Draw it as it is now."""
        lines = max(3, self._console.height - _OTHER_LINES)
        self._live.update(draw_flow(flow, self._clock(), lines, self._note), refresh=True)


class FlowLines:
    """Writes a line to stderr for each state that has changed."""

    def __init__(self, note: str, clock: Callable[[], float] = time.time) -> None:
        self._note = note
        self._clock = clock
        self._before: FlowSnapshot | None = None

    def __enter__(self) -> Self:
        _write(self._note)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        return None

    def note(self, text: str) -> None:
        """Say something about the flow run as a whole."""
        _write(text)

    def show(self, flow: FlowSnapshot) -> None:
        """Write what has changed since it was shown before."""
        now = self._clock()
        began = now if flow.started_at is None else flow.started_at
        for line in changes(self._before, flow):
            _write(f"{now - began:7.1f} s  {line}")
        self._before = flow


def draw_flow(flow: FlowSnapshot, now: float, lines: int, note: str) -> RenderableType:
    """Draw a flow run as it is at `now`, with at most `lines` of its task runs."""
    shown = _shown(flow.tasks, lines)
    table = Table(box=None, padding=(0, 1), header_style="dim")
    table.add_column("Task run", no_wrap=True, overflow="ellipsis")
    table.add_column("State", no_wrap=True)
    table.add_column("Started", no_wrap=True)
    table.add_column("Time", justify="right", no_wrap=True)
    for task in shown:
        table.add_row(
            Text(one_line(task.name, 70)),
            Text(task.state, style=_STYLES.get(task.kind, "dim")),
            _clock_time(task.started_at),
            task.took(now),
        )
    hidden = len(flow.tasks) - len(shown)
    parts: list[RenderableType] = [Text(one_line(flow.name, 78), style="bold"), table]
    if hidden:
        parts.append(Text(f"… and {plural(hidden, 'more task run')}", style="dim"))
    parts += [Text(flow_words(flow, now)), Text(visible(note), style="dim")]
    return Group(*parts)


def _shown(tasks: Sequence[TaskSnapshot], limit: int) -> list[TaskSnapshot]:
    """Choose the task runs that go on, and then the newest, in their order."""
    order = range(len(tasks))
    fresh = sorted(order, key=lambda number: (tasks[number].kind != "RUNNING", -number))
    return [tasks[number] for number in sorted(fresh[:limit])]


def _clock_time(at: float | None) -> str:
    return "" if at is None else time.strftime("%H:%M:%S", time.localtime(at))


def _write(text: str) -> None:
    sys.stderr.write(f"{visible(text)}\n")
    sys.stderr.flush()
