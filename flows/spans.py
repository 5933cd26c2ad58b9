"""The spans of a run, of its steps and of their attempts."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

from opentelemetry.trace import Link, Span, SpanContext, TraceFlags

from ..errors import RunDamagedError
from ..model_names import model_names, without_place
from ..result import SwarmResult
from ..runs import RunFolder
from ..task_ir import TIERS, TierName
from ..tracing import Attributes, fail, is_traced, span
from ..tracing.prefect_spans import without_prefect_spans
from ..tracing.provider import content_setting_read, flush
from ..tracing.spans import begin, inside
from .events import AttemptFinished, Launch
from .options import SwarmOptions
from .records import StepRecord

__all__ = ["StepSpans", "traced_run"]


_FILE = "trace.json"
_TIERS: tuple[TierName, ...] = (*TIERS, "orchestrator")


async def traced_run(
    run: RunFolder,
    flow_run_id: str,
    objective: str,
    options: SwarmOptions,
    work: Coroutine[Any, Any, SwarmResult],
) -> SwarmResult:
    """Await a run's result within a span of its own; without one where nobody takes spans."""
    if not is_traced():
        return await work
    before = _span_before(run)
    attributes = {
        "prefect.flow_run.id": flow_run_id,
        "prefect_swarm.run.id": run.run_id,
        "prefect_swarm.objective.chars": len(objective),
        "prefect_swarm.resumed.trace_id": f"{before.trace_id:032x}" if before else None,
        **_models(options),
    }
    links = [Link(before)] if before else []
    try:
        with (
            content_setting_read(),
            without_prefect_spans(),
            span("run", attributes, links) as current,
        ):
            _keep(run, current)
            result = await work
            _conclude(current, result)
    finally:
        await asyncio.to_thread(flush)
    return result


def _conclude(current: Span, result: SwarmResult) -> None:
    current.set_attribute("prefect_swarm.outcome", result.status)
    current.set_attribute("prefect_swarm.steps", len(result.steps))
    current.set_attribute("prefect_swarm.plan.hash", result.content_hash)
    if result.status == "failed":
        fail(current, "RunFailedError", result.problem)


def _models(options: SwarmOptions) -> Attributes:
    return {f"prefect_swarm.model.{tier}": _shown(options.model_of(tier)) for tier in _TIERS}


def _shown(models: str) -> str:
    """Return models' names without servers, keys and folders."""
    return ",".join(map(without_place, model_names(models)))


def _keep(run: RunFolder, current: Span) -> None:
    context = current.get_span_context()
    ids = {"trace_id": f"{context.trace_id:032x}", "span_id": f"{context.span_id:016x}"}
    run.store(_FILE, ids)


def _span_before(run: RunFolder) -> SpanContext | None:
    """Return the span that the run had in an earlier process, if it was traced then."""
    try:
        ids = run.read_json(_FILE)
        trace_id, span_id = int(str(ids["trace_id"]), 16), int(str(ids["span_id"]), 16)
    except (RunDamagedError, KeyError, ValueError):
        return None
    return SpanContext(trace_id, span_id, is_remote=True, trace_flags=TraceFlags(1))


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
                _conclude_step(current, record, launch, finished)
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


def _conclude_step(
    current: Span, record: StepRecord, launch: Launch, finished: AttemptFinished
) -> None:
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
