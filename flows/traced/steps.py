"""The spans of steps and of their attempts."""

from __future__ import annotations

from collections.abc import Coroutine, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

from opentelemetry.trace import Span

from ...tracing import fail, is_traced, span
from ...tracing.spans import begin, inside
from ..events import AttemptFinished, Launch
from ..records import StepRecord

__all__ = ["StepSpans"]


@dataclass(slots=True)
class StepSpans:
    """A span a step, from its first attempt in this process to its end, with one an attempt in it.

    Attributes:
        records: What is known of each step, by its id.
    """

    records: Mapping[str, StepRecord]
    _open: dict[str, Span] = field(init=False, default_factory=dict[str, Span])

    async def attempt(
        self, launch: Launch, work: Coroutine[Any, Any, AttemptFinished]
    ) -> AttemptFinished:
        """Await an attempt within a span; without one where nobody takes spans."""
        if not is_traced():
            return await work
        record = self.records[launch.step]
        if launch.step not in self._open:
            self._open[launch.step] = _begin_step(record)
        finished: AttemptFinished | None = None
        try:
            with inside(self._open[launch.step]), _attempt_span(record, launch) as current:
                finished = await work
                _conclude(current, record, launch, finished)
                return finished
        finally:
            if finished is None or finished.outcome not in ("retry", "asked"):
                self._end(launch.step, finished)

    def close(self) -> None:
        """End the spans of steps that waited for another attempt when their run ended."""
        for step in list(self._open):
            self._end(step, None)

    def _end(self, step: str, finished: AttemptFinished | None) -> None:
        ended, record = self._open.pop(step), self.records[step]
        ended.set_attribute("prefect_swarm.outcome", finished.outcome if finished else "unfinished")
        ended.set_attribute("prefect_swarm.attempts", len(record.attempts))
        if finished is not None and finished.outcome == "failed":
            fail(ended, str(record.category or "FAILED"), record.reason)
        ended.end()


def _begin_step(record: StepRecord) -> Span:
    step = record.step
    attributes = {
        "prefect_swarm.step.id": step.id,
        "gen_ai.agent.name": step.agent,
        "prefect_swarm.tier": step.tier,
        "prefect_swarm.output.kind": step.output.kind,
    }
    return begin(f"step {step.id}", attributes)


def _attempt_span(record: StepRecord, launch: Launch) -> AbstractContextManager[Span]:
    before = record.decision
    attributes = {
        "prefect_swarm.step.id": launch.step,
        "prefect_swarm.attempt.number": launch.attempt,
        "prefect_swarm.tier": launch.tier,
        "prefect_swarm.attempt.reason": before.action if before else None,
    }
    return span(f"attempt {launch.attempt}", attributes)


def _conclude(current: Span, record: StepRecord, launch: Launch, finished: AttemptFinished) -> None:
    current.set_attribute("prefect_swarm.outcome", finished.outcome)
    ended = next((each for each in record.attempts if each.number == launch.attempt), None)
    if ended is not None:
        current.set_attribute("prefect_swarm.samples", ended.samples)
        if ended.decision is not None:
            current.set_attribute("prefect_swarm.decision.action", ended.decision.action)
            current.set_attribute("prefect_swarm.decision.rule", ended.decision.rule)
    category = ended.category if ended else record.category
    # A text that is cut off and kept all the same has a category, too.
    if category is not None and finished.outcome != "succeeded":
        fail(current, str(category), record.reason)
