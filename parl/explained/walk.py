"""Follow the end of a run back to its beginning: at each moment, why it wasn't over yet. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ...measures.stretch import Stretch, TimeKind
from .tiling import joined, tiled

__all__ = ["Around", "Turn", "explain"]


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
    """What is known of a run beside its steps' attempts.

    Attributes:
        gaps: No process worked on the run; nothing else counts then.
        stretches: Those of the plan, of the answer, and of what a person was asked.
    """

    gaps: tuple[Stretch, ...] = ()
    stretches: tuple[Stretch, ...] = ()


def explain(
    turns: Mapping[str, Sequence[Turn]],
    upstream: Mapping[str, Sequence[str]],
    around: Around,
    began_at: float,
    ended_at: float,
) -> tuple[Stretch, ...]:
    """Return stretches that fill the time of a run, each saying why it wasn't over yet.

    From the attempt that ended last it goes back to what that one had waited for: the attempt
    before at the same step, or the last to end of the steps that it needs; and so on. Moments that
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
    for turn in _backwards(turns, upstream):
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
    turns: Mapping[str, Sequence[Turn]], upstream: Mapping[str, Sequence[str]]
) -> Iterator[Turn]:
    """Yield the attempt that ended last, what it had waited for, and so on."""
    reached = {step for step, tries in turns.items() if tries}
    while reached:
        step = max(reached, key=lambda name: turns[name][-1].over_at)
        yield from reversed(turns[step])
        reached = _needed(step, turns, upstream)


def _needed(
    step: str, turns: Mapping[str, Sequence[Turn]], upstream: Mapping[str, Sequence[str]]
) -> set[str]:
    """Return the steps that a step had waited for; in place of those that never ran, theirs."""
    found: set[str] = set()
    seen: set[str] = set()
    left = [*upstream.get(step, ())]
    while left:
        name = left.pop()
        if name in seen:
            continue
        seen.add(name)
        if turns.get(name):
            found.add(name)
        else:
            left += upstream.get(name, ())
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
        layers = (self.around.gaps, *self._around(rest.step), self._earlier(since, until))
        return tiled(since, until, layers, rest)

    def _around(self, step: str) -> tuple[Sequence[Stretch], ...]:
        return self._by_step.get(step, ()) if step else (), self._by_step.get("", ())

    def _earlier(self, since: float, until: float) -> Sequence[Stretch]:
        """What a process did in some time before it ended: nothing of it was kept."""
        left = [gap.started_at for gap in self.around.gaps if since < gap.started_at < until]
        return [Stretch(kind="earlier", started_at=since, ended_at=max(left))] if left else ()


def _rest(turn: Turn, kind: TimeKind) -> Stretch:
    return Stretch(kind=kind, step=turn.step, attempt=turn.attempt, started_at=0, ended_at=0)
