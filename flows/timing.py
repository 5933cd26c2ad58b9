"""Timing of a run: its clock and its spans."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Generator, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any

from opentelemetry.trace import Link, Span, SpanContext, TraceFlags

from ..data_types import Frozen
from ..errors import RunDamagedError
from ..metrics.clock import RunTime, Stretch, TimeKind, clock_of_run, run_time, seconds_by_kind
from ..metrics.critical_path import span_of
from ..metrics.time_breakdown import TIMELINE_EVENTS, around_steps, explain, turns_of
from ..models.names import model_names, without_place
from ..plan.schedule_events import AttemptFinished, Launch
from ..plan.task_ir import TIERS, TierName
from ..store.protocol import RunStore
from ..store.result import SwarmResult
from ..store.step import StepState
from ..tasks.subagent.request import SubagentResult
from ..text import duration
from ..tracing import Attributes, fail, is_traced, span
from ..tracing.spans import begin, content_setting_read, flush, inside, without_prefect_spans
from .options import SwarmOptions
from .prefect_io.server_access import server_waits

__all__ = [
    "AttemptTimes",
    "NotedTime",
    "StepSpans",
    "other_answers",
    "steady_clock",
    "stopped_among",
    "time_of_run",
    "traced_run",
]


_LEAST_S = 2.0
"""Clocks are corrected by less all the time."""

_logger = logging.getLogger("prefect_swarm.runs")


@contextmanager
def steady_clock(run: RunStore) -> Generator[None]:
    """Let time pass steadily, from where an earlier process of the run had come to."""
    with clock_of_run(_last_moment(run)) as clock:
        if clock.offset_s > _LEAST_S:
            _logger.warning(
                "The clock is %s behind the last event of run %s: it was set back. How long the "
                "run stood still isn't known, and doesn't count.",
                duration(clock.offset_s),
                run.run_id,
            )
        try:
            yield
        finally:
            if abs(by := clock.set_by_s()) > _LEAST_S:
                _logger.warning(
                    "While run %s went on, the clock was set %s by %s, or the machine slept. The "
                    "run's times and durations are as if it hadn't.",
                    run.run_id,
                    "ahead" if by > 0 else "back",
                    duration(abs(by)),
                )


def _last_moment(run: RunStore) -> float:
    moment = run.about().started_at or 0.0
    with suppress(RunDamagedError):
        last = run.last_event()
        moment = max(moment, last.at if last else 0.0)
    return moment


_LEAST_NOTED_S = 0.001
"""What takes less is not noted: nobody would look for it."""


@dataclass(slots=True)
class NotedTime:
    """Stretches of time, as they were noted."""

    stretches: list[Stretch] = field(default_factory=list[Stretch])
    clock: Callable[[], float] = field(default=run_time)

    @contextmanager
    def noted(self, kind: TimeKind) -> Generator[None]:
        """Note what the work inside takes, also if it fails."""
        began = self.clock()
        try:
            yield
        finally:
            ended = self.clock()
            if ended - began >= _LEAST_NOTED_S:
                self.stretches.append(Stretch(kind=kind, started_at=began, ended_at=ended))


@dataclass(slots=True)
class AttemptTimes:
    """When an attempt could begin, when it was launched, and what else it took.

    One that waits for a person in its middle is launched again; its times go on.
    """

    ready_at: float
    launched_at: float
    other: NotedTime = field(default_factory=NotedTime)


def other_answers(best: SubagentResult, results: Iterable[SubagentResult]) -> list[Stretch]:
    """Return the time of the models that wrote the samples which don't count, and of reviewers."""
    return [
        Stretch(kind="model", started_at=result.started_at, ended_at=result.ended_at)
        for result in results
        if result is not best and result.started_at < result.ended_at
    ]


def time_of_run(
    run: RunStore,
    steps: Sequence[StepState],
    upstream: Mapping[str, Sequence[str]],
    ending: Sequence[Stretch],
    ended_at: float,
) -> RunTime | None:
    """Return where a run's time went; None if it isn't known when it began.

    What can't be read of its events is missing: that time is Prefect's then.

    Args:
        steps: Its steps with their attempts.
        upstream: The steps that each step needs.
        ending: What its end took: the answer, and what the memory learned.
        ended_at: When it ended, in seconds since the Unix epoch.
    """
    about = run.about()
    if (began_at := about.started_at) is None:
        return None
    try:
        around = around_steps(run.events(TIMELINE_EVENTS), began_at, ended_at)
    except RunDamagedError as error:
        _logger.warning("What the time of run %s went to is not all known: %s", run.run_id, error)
        around = around_steps((), began_at, ended_at)
    stretches = (*around.stretches, *ending, *server_waits())
    around = replace(around, stretches=stretches)
    stretches = explain(turns_of(steps), upstream, around, began_at, ended_at)
    queued_s = max(0.0, began_at - (about.scheduled_at or began_at))
    return RunTime.of(stretches, began_at, max(began_at, ended_at), queued_s)


def stopped_among(steps: Sequence[StepState], spent: RunTime) -> float:
    """Return the seconds of the makespan in which nothing ran."""
    since, until = span_of(steps)
    return seconds_by_kind(spent.stretches, since, until).get("stopped", 0.0)


_TIERS: tuple[TierName, ...] = (*TIERS, "orchestrator")


class _SpanIds(Frozen):
    trace_id: str
    span_id: str


async def traced_run(
    run: RunStore,
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


def _keep(run: RunStore, current: Span) -> None:
    context = current.get_span_context()
    ids = _SpanIds(trace_id=f"{context.trace_id:032x}", span_id=f"{context.span_id:016x}")
    run.write_record("trace", ids)


def _span_before(run: RunStore) -> SpanContext | None:
    """Return the span that the run had in an earlier process, if it was traced then."""
    try:
        if (ids := run.record("trace", _SpanIds)) is None:
            return None
        trace_id, span_id = int(ids.trace_id, 16), int(ids.span_id, 16)
    except (RunDamagedError, ValueError):
        return None
    return SpanContext(trace_id, span_id, is_remote=True, trace_flags=TraceFlags(1))


@dataclass(slots=True)
class StepSpans:
    """A span a step, from its first attempt in this process to its end, with one an attempt in it.

    Attributes:
        records: What is known of each step, by its id.
    """

    records: Mapping[str, StepState]
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


def _begin_step(record: StepState) -> Span:
    step = record.step
    attributes = {
        "prefect_swarm.step.id": step.id,
        "gen_ai.agent.name": step.agent,
        "prefect_swarm.tier": step.tier,
        "prefect_swarm.output.kind": step.output.kind,
    }
    return begin(f"step {step.id}", attributes)


def _attempt_span(record: StepState, launch: Launch) -> AbstractContextManager[Span]:
    before = record.decision
    attributes = {
        "prefect_swarm.step.id": launch.step,
        "prefect_swarm.attempt.number": launch.attempt,
        "prefect_swarm.tier": launch.tier,
        "prefect_swarm.attempt.reason": before.action if before else None,
    }
    return span(f"attempt {launch.attempt}", attributes)


def _conclude_step(
    current: Span, record: StepState, launch: Launch, finished: AttemptFinished
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
