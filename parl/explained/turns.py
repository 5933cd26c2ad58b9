"""The attempts at steps as what they took time for. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ...measures.stretch import Stretch, TimeKind
from ...result import Attempt, StepResult
from .walk import Turn

__all__ = ["turns_of"]


def turns_of(steps: Iterable[StepResult]) -> dict[str, Sequence[Turn]]:
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

    yield stretch("model", attempt.started_at, attempt.ended_at - attempt.started_at)
    for each in attempt.stretches:
        yield stretch(each.kind, each.started_at, each.seconds)
    for call in attempt.calls:
        # One that an earlier process made took this attempt no time.
        if call.started_at and call.outcome != "stored":
            yield stretch("tool", call.started_at, call.seconds)
    for gate in attempt.gates:
        # A finding that was there is told with the seconds of the first time.
        if gate.started_at and not gate.cached:
            yield stretch("gate", gate.started_at, gate.duration_s)
