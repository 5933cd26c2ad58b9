"""What the events of a run tell of the time beside its steps. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ...events.kinds import (
    AnsweredEvent,
    AskedEvent,
    BeganEvent,
    ExploringEvent,
    FinishedEvent,
    PlannedEvent,
    PlanningEvent,
    RunEvent,
    WaitEvent,
)
from ...measures.stretch import Stretch, TimeKind
from .walk import Around

__all__ = ["HEARD", "around_steps"]

HEARD = frozenset(
    ("began", "exploring", "planning", "planned", "waiting", "resumed", "asked", "answered")
) | {"finished"}
"""The kinds of events that are read."""


def around_steps(events: Iterable[RunEvent], began_at: float, ended_at: float) -> Around:
    """Read out of a run's events what its time went to beside its steps.

    Args:
        events: In order, of all processes that worked on it; others than `HEARD` don't matter.
        began_at: When the run began.
        ended_at: When it ended; what has no end in the events is over then.
    """
    hearing = _Hearing(began_at)
    for event in events:
        hearing.hear(event)
    return hearing.end(ended_at)


@dataclass(frozen=True, slots=True)
class _Gap:
    """Between two processes; `decided` counts the decisions before it, if it was left for one."""

    left_at: float
    began_at: float
    decided: int | None


@dataclass(slots=True)
class _Hearing:
    """What has been heard so far.

    Attributes:
        began_at: When the process began to work on the run.
    """

    began_at: float
    _planning_at: float | None = None
    _is_planned: bool = False
    _waits: int = 0
    _waits_since: float = 0.0
    _left_waiting: bool = False
    _asked: dict[str, AskedEvent] = field(default_factory=dict[str, AskedEvent])
    _decided_at: list[float] = field(default_factory=list[float])
    _gaps: list[_Gap] = field(default_factory=list["_Gap"])
    _found: list[Stretch] = field(default_factory=list[Stretch])

    def hear(self, event: RunEvent) -> None:
        """Take the next event."""
        match event:
            case BeganEvent(resumed=True):
                self._begin(event)
            case ExploringEvent() | PlanningEvent() if self._planning_at is None:
                self._planning_at = event.at
                self._add("start", self.began_at, event.at)
            case PlannedEvent():
                self._plan(event.at)
            case WaitEvent(step=""):
                self._wait(event)
            case AskedEvent():
                self._asked.setdefault(event.question, event)
            case AnsweredEvent():
                self._answer(event)
            case FinishedEvent():
                self._left_waiting = event.status == "waiting"
            case _:
                pass

    def end(self, ended_at: float) -> Around:
        """Return what was heard; what goes on is over at `ended_at`."""
        for question in self._asked.values():
            self._add("person", question.at, ended_at, question)
        gaps = [each for gap in self._gaps for each in self._explained(gap)]
        return Around(tuple(gaps), tuple(self._found))

    def _begin(self, event: BeganEvent) -> None:
        decided = len(self._decided_at) if self._left_waiting else None
        self._gaps.append(_Gap(event.left_at or event.at, event.at, decided))
        self.began_at = event.at
        self._planning_at, self._is_planned = None, False
        self._waits, self._left_waiting = 0, False

    def _plan(self, at: float) -> None:
        if self._planning_at is not None:
            self._add("planning", self._planning_at, at)
        elif not self._is_planned:
            self._add("start", self.began_at, at)
        self._planning_at, self._is_planned = None, True

    def _wait(self, event: WaitEvent) -> None:
        if event.kind == "waiting":
            if not self._waits:
                self._waits_since = event.at
            self._waits += 1
        elif self._waits:
            self._waits -= 1
            if not self._waits:
                self._add("provider", self._waits_since, event.at)

    def _answer(self, event: AnsweredEvent) -> None:
        asked, at = self._asked.pop(event.question, None), event.answered_at or event.at
        if event.at and not (asked.at if asked else 0.0) <= at <= event.at:
            # Another clock, or one that was set, has the decision out of order.
            at = event.at
        self._decided_at.append(at)
        if asked is not None:
            self._add("person", asked.at, at, asked)

    def _explained(self, gap: _Gap) -> Iterable[Stretch]:
        """Return what a gap is: a run that was left for a person waits for them at first."""
        until = gap.left_at
        if gap.decided is not None:
            # What was read after it; it may have been decided while the run was being left.
            first = min(self._decided_at[gap.decided :], default=gap.began_at)
            until = min(max(first, gap.left_at), gap.began_at)
        if gap.left_at < until:
            yield Stretch(kind="person", started_at=gap.left_at, ended_at=until)
        if until < gap.began_at:
            yield Stretch(kind="stopped", started_at=until, ended_at=gap.began_at)

    def _add(
        self, kind: TimeKind, since: float, until: float, about: RunEvent | None = None
    ) -> None:
        if since < until:
            step, attempt = (about.step, about.attempt) if about else ("", 0)
            found = Stretch(kind=kind, step=step, attempt=attempt, started_at=since, ended_at=until)
            self._found.append(found)
