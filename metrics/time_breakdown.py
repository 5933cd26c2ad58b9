"""The time breakdown of a run: each second belongs to one kind of time. Pure."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from ..plan.ids import root_of
from ..store.attempt import Attempt
from ..store.events import (
    AnsweredEvent,
    AskedEvent,
    BeganEvent,
    DirectingEvent,
    ExploringEvent,
    FinishedEvent,
    PlannedEvent,
    PlanningEvent,
    RunEvent,
    TurnEvent,
    WaitEvent,
)
from ..store.step import StepState
from .clock import Stretch, TimeKind

__all__ = [
    "TIMELINE_EVENTS",
    "Around",
    "Layers",
    "Turn",
    "around_steps",
    "explain",
    "joined",
    "tiled",
    "turns_of",
]


Layers = Sequence[Sequence[Stretch]]
"""Stretches, those of an earlier layer over those of a later one."""

# Within a layer the innermost counts: a model's call of a tool lies inside its attempt's time.
_RANKS: tuple[TimeKind, ...] = (
    "provider",
    "slot",
    "tool",
    "gate",
    "delay",
    "memory",
    "model",
    "person",
    "planning",
    "orchestrator",
    "answer",
    "server",
    "start",
    "prefect",
    "stopped",
    "earlier",
)
_RANK = {kind: rank for rank, kind in enumerate(_RANKS)}

_Open = tuple[tuple[int, int, int], Stretch]


def tiled(since: float, until: float, layers: Layers, rest: Stretch) -> list[Stretch]:
    """Return stretches that fill the time from `since` to `until`, in order.

    Args:
        since: When the time begins; none is filled unless it is before `until`.
        layers: What is known. It may reach beyond the time, and overlap.
        rest: Of the kind of whatever is left, and whose that is.
    """
    if not since < until:
        return []
    starts = sorted(_clipped(since, until, layers), key=lambda found: found[1].started_at)
    moments = {since, until}
    for _, each in starts:
        moments |= {each.started_at, each.ended_at}
    open_: list[_Open] = []
    tiles: list[Stretch] = []
    following = 0
    for begin, end in pairwise(sorted(moments)):
        while following < len(starts) and starts[following][1].started_at <= begin:
            heapq.heappush(open_, starts[following])
            following += 1
        while open_ and open_[0][1].ended_at <= begin:
            heapq.heappop(open_)
        tiles.append(_cut(open_[0][1] if open_ else rest, begin, end))
    return joined(tiles)


def joined(tiles: Iterable[Stretch]) -> list[Stretch]:
    """Return stretches that follow each other, neighbours of the same kind and attempt joined."""
    found: list[Stretch] = []
    for tile in tiles:
        last = found[-1] if found else None
        if last and _names(last) == _names(tile):
            found[-1] = _cut(last, last.started_at, tile.ended_at)
        else:
            found.append(tile)
    return found


def _clipped(since: float, until: float, layers: Layers) -> list[_Open]:
    """Return what lies within some time, with what decides between two of them."""
    return [
        ((layer, _RANK[each.kind], order), _cut(each, started_at, ended_at))
        for layer, stretches in enumerate(layers)
        for order, each in enumerate(stretches)
        if (started_at := max(since, each.started_at)) < (ended_at := min(until, each.ended_at))
    ]


def _cut(stretch: Stretch, started_at: float, ended_at: float) -> Stretch:
    if (stretch.started_at, stretch.ended_at) == (started_at, ended_at):
        return stretch
    return stretch.model_copy(update={"started_at": started_at, "ended_at": ended_at})


def _names(stretch: Stretch) -> tuple[str, str, int]:
    return stretch.kind, stretch.step, stretch.attempt


@dataclass(frozen=True, slots=True)
class Turn:
    """One attempt at a step, from when it could begin to its end.

    Attributes:
        ready_at: When all was there that it needs.
        launched_at: When it was launched; until then it had waited for a slot.
        over_at: When the last of it was over.
        stretches: What is known of its time.
    """

    step: str
    attempt: int
    ready_at: float
    launched_at: float
    over_at: float
    stretches: tuple[Stretch, ...] = ()


@dataclass(frozen=True, slots=True)
class Around:
    """Facts about a run in addition to its steps' attempts.

    Attributes:
        gaps: No process worked on the run; nothing else counts then.
        stretches: Those of the plan, of the answer, and of what a person was asked.
        directing: Those in which the orchestrator was asked what follows. They count only where
            no step that the end waits for goes on.
        directed_at: When the turn began that assigned a step; steps of the plan are not there.
    """

    gaps: tuple[Stretch, ...] = ()
    stretches: tuple[Stretch, ...] = ()
    directing: tuple[Stretch, ...] = ()
    directed_at: Mapping[str, float] = field(default_factory=dict[str, float])


def explain(
    turns: Mapping[str, Sequence[Turn]],
    upstream: Mapping[str, Sequence[str]],
    around: Around,
    began_at: float,
    ended_at: float,
) -> tuple[Stretch, ...]:
    """Return stretches that fill the time of a run, each saying why it wasn't over yet.

    From the attempt that ended last it goes back to what that one had waited for: the attempt
    before at the same step, or the last to end of the steps that it needs; and so on. A step that a
    later turn assigned waited besides for what was over when that turn began. Moments that
    a clock, which was set back, has out of order are taken for the nearest that are in order.

    Args:
        turns: The attempts at each step, in order; steps that never ran have none.
        upstream: The steps that each step needs.
        around: What else is known.
        began_at: When the run began.
        ended_at: When it ended.
    """
    fill = _Fill(around)
    until, later = max(began_at, ended_at), Stretch(kind="prefect", started_at=0, ended_at=0)
    parts: list[list[Stretch]] = []
    for turn in _backwards(turns, upstream, around.directed_at):
        over_at = min(max(turn.over_at, began_at), until)
        since = min(max(min(turn.ready_at, turn.launched_at), began_at), over_at)
        launched_at = min(max(turn.launched_at, since), over_at)
        parts.append(fill.between(over_at, until, later))
        parts.append(fill.within(turn, launched_at, over_at, "prefect"))
        parts.append(fill.within(turn, since, launched_at, "slot"))
        until, later = since, _rest(turn, "prefect")
    parts.append(fill.between(began_at, until, later))
    return tuple(joined(each for part in reversed(parts) for each in part))


def _backwards(
    turns: Mapping[str, Sequence[Turn]],
    upstream: Mapping[str, Sequence[str]],
    directed_at: Mapping[str, float],
) -> Iterator[Turn]:
    """Yield the attempt that ended last, what it had waited for, and so on."""
    reached = {step for step, tries in turns.items() if tries}
    passed: set[str] = set()
    while reached:
        step = max(reached, key=lambda name: turns[name][-1].over_at)
        yield from reversed(turns[step])
        passed.add(step)
        reached = _needed(step, turns, upstream)
        if directed_at and (began_at := directed_at.get(root_of(step))) is not None:
            reached |= _over_before(began_at, turns, directed_at)
        # Where a clock was set, what was over before a turn may need what the turn assigned.
        reached -= passed


def _over_before(
    began_at: float, turns: Mapping[str, Sequence[Turn]], directed_at: Mapping[str, float]
) -> set[str]:
    """Return the steps of earlier turns that were over when one began."""
    return {
        name
        for name, tries in turns.items()
        if tries
        and tries[-1].over_at <= began_at
        and directed_at.get(root_of(name), -math.inf) < began_at
    }


def _needed(
    step: str, turns: Mapping[str, Sequence[Turn]], upstream: Mapping[str, Sequence[str]]
) -> set[str]:
    """Return the steps that a step had waited for; in place of those that never ran, theirs."""
    found: set[str] = set()
    seen: set[str] = set()
    remaining = [*upstream.get(step, ())]
    while remaining:
        name = remaining.pop()
        if name in seen:
            continue
        seen.add(name)
        if turns.get(name):
            found.add(name)
        else:
            remaining += upstream.get(name, ())
    return found


@dataclass(slots=True)
class _Fill:
    """Fills the time of attempts, and the time between them."""

    around: Around
    _by_step: dict[str, list[Stretch]] = field(init=False, default_factory=dict[str, list[Stretch]])

    def __post_init__(self) -> None:
        for each in self.around.stretches:
            self._by_step.setdefault(each.step, []).append(each)

    def within(self, turn: Turn, since: float, until: float, kind: TimeKind) -> list[Stretch]:
        """Fill some of an attempt's time; what isn't known is of that kind."""
        layers = (self.around.gaps, turn.stretches, *self._around(turn.step))
        return tiled(since, until, layers, _rest(turn, kind))

    def between(self, since: float, until: float, rest: Stretch) -> list[Stretch]:
        """Fill the time before an attempt, or after the last."""
        layers = (self.around.gaps, *self._around(rest.step))
        layers = (*layers, self.around.directing, self._earlier(since, until))
        return tiled(since, until, layers, rest)

    def _around(self, step: str) -> tuple[Sequence[Stretch], ...]:
        return self._by_step.get(step, ()) if step else (), self._by_step.get("", ())

    def _earlier(self, since: float, until: float) -> Sequence[Stretch]:
        """What a process did in some time before it ended: nothing of it was kept."""
        began = [gap.started_at for gap in self.around.gaps if since < gap.started_at < until]
        return [Stretch(kind="earlier", started_at=since, ended_at=max(began))] if began else ()


def _rest(turn: Turn, kind: TimeKind) -> Stretch:
    return Stretch(kind=kind, step=turn.step, attempt=turn.attempt, started_at=0, ended_at=0)


TIMELINE_EVENTS = frozenset(
    ("began", "exploring", "planning", "planned", "waiting", "resumed", "asked", "answered")
) | {"directing", "turn", "finished"}
"""The kinds of events that are read."""


def around_steps(events: Iterable[RunEvent], began_at: float, ended_at: float) -> Around:
    """Read from a run's events where its time went outside its steps.

    Args:
        events: In order, of all processes that worked on it; only `TIMELINE_EVENTS` count.
        began_at: When the run began.
        ended_at: When it ended; what has no end in the events is over then.
    """
    timeline = _Timeline(began_at)
    for event in events:
        timeline.handle(event)
    return timeline.end(ended_at)


@dataclass(frozen=True, slots=True)
class _Gap:
    """Between two processes; `decided` counts the decisions before it, if it was left for one."""

    left_at: float
    began_at: float
    decided: int | None


@dataclass(slots=True)
class _Timeline:
    """The events so far.

    Attributes:
        began_at: When the process began to work on the run.
    """

    began_at: float
    _planning_at: float | None = None
    _is_planned: bool = False
    _waits: int = 0
    _waits_since: float = 0.0
    _waits_for_person: bool = False
    _asked: dict[str, AskedEvent] = field(default_factory=dict[str, AskedEvent])
    _decided_at: list[float] = field(default_factory=list[float])
    _gaps: list[_Gap] = field(default_factory=list["_Gap"])
    _directing_at: float | None = None
    _turn_at: float | None = None
    _directing: list[Stretch] = field(default_factory=list[Stretch])
    _directed_at: dict[str, float] = field(default_factory=dict[str, float])
    _found: list[Stretch] = field(default_factory=list[Stretch])

    def handle(self, event: RunEvent) -> None:
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
            case DirectingEvent() | TurnEvent():
                self._direct(event)
            case AskedEvent():
                if event.is_about_turn:
                    self._decide("orchestrator", event.at)
                self._asked.setdefault(event.question, event)
            case AnsweredEvent():
                self._answer(event)
            case FinishedEvent():
                self._waits_for_person = event.status == "waiting"
            case _:
                pass

    def end(self, ended_at: float) -> Around:
        """Return the events' times; what is open ends at `ended_at`."""
        for question in self._asked.values():
            self._add("person", question.at, ended_at, question)
        self._decide("orchestrator", ended_at)
        gaps = [each for gap in self._gaps for each in self._explained(gap)]
        return Around(
            tuple(gaps), tuple(self._found), tuple(self._directing), dict(self._directed_at)
        )

    def _begin(self, event: BeganEvent) -> None:
        decided = len(self._decided_at) if self._waits_for_person else None
        self._gaps.append(_Gap(event.left_at or event.at, event.at, decided))
        self.began_at = event.at
        self._planning_at, self._is_planned = None, False
        # What a process was asking when it ended is asked again.
        self._directing_at = None
        self._waits, self._waits_for_person = 0, False

    def _plan(self, at: float) -> None:
        if self._planning_at is not None:
            self._add("planning", self._planning_at, at)
        elif not self._is_planned:
            self._add("start", self.began_at, at)
        self._planning_at, self._is_planned = None, True

    def _direct(self, event: DirectingEvent | TurnEvent) -> None:
        if isinstance(event, DirectingEvent):
            self._directing_at = self._turn_at = event.at
            return
        # What the last turn takes is what the answer takes in a run that has no turns.
        self._decide("answer" if event.finished else "orchestrator", event.at)
        if self._turn_at is not None:
            self._directed_at.update(dict.fromkeys([s.id for s in event.steps], self._turn_at))
        self._turn_at = None

    def _decide(self, kind: TimeKind, at: float) -> None:
        """End the time in which the orchestrator is asked; nothing happens if it isn't."""
        since, self._directing_at = self._directing_at, None
        if since is not None and since < at:
            self._directing.append(Stretch(kind=kind, started_at=since, ended_at=at))

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


def turns_of(steps: Iterable[StepState]) -> dict[str, Sequence[Turn]]:
    """Return the attempts at each step, in order; a step that never ran has none."""
    return {step.id: tuple(_turn(step.id, attempt) for attempt in step.attempts) for step in steps}


def _turn(step: str, attempt: Attempt) -> Turn:
    stretches = tuple(_stretches(step, attempt))
    # A result of an earlier version doesn't say when an attempt was launched.
    launched_at = attempt.launched_at or attempt.started_at
    ready_at = attempt.ready_at or launched_at
    return Turn(
        step=step,
        attempt=attempt.number,
        # What was asked ahead of the plan had begun before.
        ready_at=min(ready_at, attempt.started_at),
        launched_at=launched_at,
        over_at=max(attempt.ended_at, *(each.ended_at for each in stretches)),
        stretches=stretches,
    )


def _stretches(step: str, attempt: Attempt) -> Iterator[Stretch]:
    def stretch(kind: TimeKind, since: float, seconds: float) -> Stretch:
        return Stretch(
            kind=kind,
            step=step,
            attempt=attempt.number,
            started_at=since,
            ended_at=since + max(0.0, seconds),
        )

    # A call of the plan's own asks no model.
    kind = "model" if attempt.model else "tool"
    yield stretch(kind, attempt.started_at, attempt.ended_at - attempt.started_at)
    for each in attempt.stretches:
        yield stretch(each.kind, each.started_at, each.seconds)
    for call in attempt.calls:
        # One that an earlier process made took this attempt no time.
        if call.started_at and call.outcome != "stored":
            yield stretch("tool", call.started_at, call.seconds)
    for gate in attempt.gates:
        if gate.worked_s:
            yield stretch("gate", gate.started_at, gate.worked_s)
