"""Runs as their time is explained: attempts, what lies around them, and any of both."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st
from prefect_swarm.metrics.clock import Stretch, TimeKind
from prefect_swarm.metrics.time_breakdown import Around, Turn

__all__ = ["TimedRun", "stretch", "timed_runs", "turn"]


def stretch(
    kind: TimeKind, since: float, until: float, step: str = "", attempt: int = 0
) -> Stretch:
    return Stretch(kind=kind, step=step, attempt=attempt, started_at=since, ended_at=until)


def turn(
    step: str,
    ready_at: float,
    over_at: float,
    *stretches: Stretch,
    attempt: int = 1,
    launched_at: float | None = None,
) -> Turn:
    launched = ready_at if launched_at is None else launched_at
    own = tuple(each.model_copy(update={"step": step, "attempt": attempt}) for each in stretches)
    return Turn(step, attempt, ready_at, launched, over_at, own)


@dataclass(frozen=True)
class TimedRun:
    turns: dict[str, list[Turn]]
    upstream: dict[str, list[str]]
    around: Around
    began_at: float
    ended_at: float


# Not only moments in order: a clock that is set back gives others.
_moments = st.floats(-5, 120, allow_nan=False)
_INNER: list[TimeKind] = ["model", "provider", "slot", "delay", "gate", "tool", "memory"]
_OUTER: list[TimeKind] = ["start", "planning", "provider", "person", "answer", "memory"]


@st.composite
def _stretches(draw: st.DrawFn, kinds: list[TimeKind], steps: list[str]) -> list[Stretch]:
    made: list[Stretch] = []
    for _ in range(draw(st.integers(0, 4))):
        since, until = sorted((draw(_moments), draw(_moments)))
        step = draw(st.sampled_from(["", *steps]))
        made.append(stretch(draw(st.sampled_from(kinds)), since, until, step))
    return made


@st.composite
def timed_runs(draw: st.DrawFn) -> TimedRun:
    """Runs with retries, waits, questions and gaps, in which not all is known or in order."""
    turns: dict[str, list[Turn]] = {}
    upstream: dict[str, list[str]] = {}
    for n in range(1, draw(st.integers(0, 6)) + 1):
        name = f"S{n}"
        upstream[name] = sorted(draw(st.sets(st.sampled_from(sorted(turns)))) if turns else ())
        turns[name] = []
        for attempt in range(1, draw(st.integers(0, 3)) + 1):
            inner = draw(_stretches(_INNER, []))
            ready, launched, over = (draw(_moments) for _ in range(3))
            made = turn(name, ready, over, *inner, attempt=attempt, launched_at=launched)
            turns[name].append(made)
    gaps = draw(_stretches(["stopped"], []))
    known = sorted(turns)
    around = Around(
        tuple(gaps),
        tuple(draw(_stretches(_OUTER, known))),
        directing=tuple(draw(_stretches(["orchestrator"], []))),
        directed_at=draw(st.dictionaries(st.sampled_from(known), _moments)) if known else {},
    )
    return TimedRun(turns, upstream, around, 0.0, draw(st.floats(0, 120)))
