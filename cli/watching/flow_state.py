"""A flow run and its task runs as a Prefect server has them, for a board and for lines. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ...exit_codes import ExitCode
from ...text import duration, one_line, plural

__all__ = ["FlowSnapshot", "TaskSnapshot", "changes", "flow_code", "flow_words"]

_OVER = frozenset({"COMPLETED", "FAILED", "CRASHED", "CANCELLED"})


@dataclass(frozen=True, slots=True)
class TaskSnapshot:
    """A task run. Times are seconds since the Unix epoch; None if it hasn't come to that.

    Attributes:
        state: The state's name: Running, Completed, Cached …
        kind: Its type: RUNNING, COMPLETED …
    """

    id: str
    name: str
    state: str
    kind: str
    started_at: float | None = None
    ended_at: float | None = None

    def took(self, now: float) -> str:
        """Say how long it has taken so far, or took."""
        if self.started_at is None:
            return ""
        return duration(max(0.0, (self.ended_at or now) - self.started_at))


@dataclass(frozen=True, slots=True)
class FlowSnapshot:
    """A flow run, and its task runs in the order in which they came.

    Attributes:
        more: Whether it has more task runs than these, older ones.
    """

    id: str
    name: str
    state: str
    kind: str
    message: str = ""
    started_at: float | None = None
    ended_at: float | None = None
    tasks: tuple[TaskSnapshot, ...] = ()
    more: bool = False

    @property
    def is_over(self) -> bool:
        """Whether it has ended."""
        return self.kind in _OVER

    @property
    def waits(self) -> bool:
        """Whether it waits for a person."""
        return self.kind == "PAUSED"


def changes(before: FlowSnapshot | None, now: FlowSnapshot) -> list[str]:
    """Write a line for each state that is another than it was, the flow run's own last."""
    known: Mapping[str, str] = (
        {task.id: task.state for task in before.tasks} if before is not None else {}
    )
    lines = [
        f"{one_line(task.name, 80)}: {task.state}"
        + (f" after {task.took(task.ended_at)}" if task.ended_at is not None else "")
        for task in now.tasks
        if known.get(task.id) != task.state
    ]
    if before is None or before.state != now.state:
        lines.append(f"The flow run is {now.state}")
    return lines


def flow_words(flow: FlowSnapshot, now: float) -> str:
    """Say in a line how far a flow run is."""
    over = _count(flow.tasks)
    many = f"{'at least ' if flow.more else ''}{plural(len(flow.tasks), 'task run')}"
    parts = [flow.state, many + (f": {over}" if over else "")]
    if flow.started_at is not None:
        parts.append(duration(max(0.0, (flow.ended_at or now) - flow.started_at)))
    return " · ".join(parts)


def _count(tasks: Iterable[TaskSnapshot]) -> str:
    counts = Counter(task.state for task in tasks)
    return ", ".join(f"{count:,} {state}" for state, count in counts.most_common())


def flow_code(flow: FlowSnapshot) -> ExitCode:
    """Return the exit code that a flow run has earned."""
    match flow.kind:
        case "COMPLETED":
            return ExitCode.PARTIAL if flow.state == "Partial" else ExitCode.COMPLETED
        case "CANCELLED":
            return ExitCode.CANCELLED
        case _:
            return ExitCode.FAILED
