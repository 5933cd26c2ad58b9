"""One candidate for a step's artifact: subagent, gates, reviewers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from prefect.client.schemas.objects import State

from ..errors import Category
from ..gates import (
    Gate,
    GatePipeline,
    GateResult,
    PipelineResult,
    Subject,
    build_pipeline,
    format_diagnostics,
    run_pipeline,
)
from ..metrics.clock import run_time
from ..plan.compile import CompiledStep
from ..plan.review import Reviewer
from ..store.attempt import excerpt
from ..store.events import EventSink, GateEvent, TextEvent
from ..tasks.context import task_context
from ..tasks.gates import LOST, gates, inspect
from ..tasks.inspection import Inspection, Verdicts
from ..tasks.subagent.request import SubagentRequest, SubagentResult
from ..text import visible
from .context import RunContext
from .event_log import call_sink, text_events
from .prefect_io.task_runs import run_task
from .review import Reviewed, Reviews
from .subagents import ask_subagent

__all__ = ["Candidate", "Candidates", "Inspections"]


@dataclass(frozen=True, slots=True)
class Inspections:
    """Has artifacts checked. `light` bounds the light gates that run in parallel."""

    emit: EventSink
    light: asyncio.Semaphore

    async def inspect(
        self,
        step: CompiledStep,
        request: SubagentRequest,
        artifact: str,
        answered: State[Any],
        label: str,
    ) -> tuple[PipelineResult, tuple[State[Any], ...]]:
        """Return what the step's gates found, and the states that whatever comes next waits for.

        Args:
            request: What the artifact answers.
            answered: The state of the task run that made it.
            label: Names the task runs, such as `attempt 2`.
        """
        subject = Subject(
            artifact=artifact,
            output=step.output,
            prompt=step.prompt,
            upstream=request.upstream,
            workplace=request.workplace,
        )
        line = _Line(self, step.id, request, label)
        return await line.check(build_pipeline(step.gates), subject, answered)


@dataclass(slots=True)
class _Line:
    """The gates of one artifact, and the states of their task runs by stage."""

    inspections: Inspections
    step: str
    request: SubagentRequest
    label: str
    states: dict[str, tuple[State[Any], ...]] = field(
        default_factory=dict[str, tuple[State[Any], ...]]
    )

    async def check(
        self, pipeline: GatePipeline, subject: Subject, answered: State[Any]
    ) -> tuple[PipelineResult, tuple[State[Any], ...]]:
        self.states[""] = (answered,)
        found: tuple[GateResult, ...] = ()
        if light := pipeline.light.names:
            found = await self._check_light(light, subject)
            if any(result.stops for result in found):
                return PipelineResult(_last(subject, found), found), self._last_states
            subject = subject.model_copy(update={"artifact": _last(subject, found)})
        heavy = await run_pipeline(pipeline.heavy, subject, self._check_heavy)
        return PipelineResult(heavy.artifact, (*found, *heavy.results)), self._last_states

    async def _check_light(self, names: Sequence[str], subject: Subject) -> tuple[GateResult, ...]:
        """Return what light gates find. They are a task run only where the artifact fails them."""
        inspection = Inspection.of(self.request.cache_key(), names, subject)
        early = _EarlyVerdicts(self.request, self.inspections.emit)
        with task_context(on_verdict=early.handle, light=self.inspections.light):
            try:
                inspected = await inspect(inspection)
                broke = LOST
            except Exception as error:  # noqa: BLE001 - a gate of somebody else may raise anything
                inspected, broke = None, repr(error)
        if inspected is None:
            return early.complete(early.with_broken(names, broke))
        if inspected.stopped_by is not None:
            with task_context(inspected=inspected):
                await self._run("light", inspection, "gates")
        return early.complete(inspected.results)

    async def _check_heavy(self, gate: Gate, subject: Subject, required: bool) -> GateResult:
        names = (gate.name if required else f"{gate.name}?",)
        inspection = Inspection.of(self.request.cache_key(), names, subject)
        early = _EarlyVerdicts(self.request, self.inspections.emit)
        with task_context(on_verdict=early.handle, light=self.inspections.light):
            content = await self._run(gate.stage, inspection, f"gate {gate.name}")
        if isinstance(content, dict):
            (found,) = early.complete(Verdicts.model_validate(content).results)
        else:
            (found,) = early.complete(early.with_broken(names, repr(content)))
        return found

    async def _run(self, stage: str, inspection: Inspection, what: str) -> object:
        """Have an artifact held against gates as a task run, and return what it came to."""
        state, content = await run_task(
            gates,
            inspection,
            name=f"{self.step}, {what}, {self.label}",
            wait_for=self._before(stage),
        )
        self.states[stage] = (*self.states.get(stage, ()), state)
        return content

    @property
    def _last_states(self) -> tuple[State[Any], ...]:
        return [*self.states.values()][-1]

    def _before(self, stage: str) -> tuple[State[Any], ...]:
        """Return the states of the stage before this one."""
        return next(states for name, states in reversed(self.states.items()) if name != stage)


def _last(subject: Subject, found: Sequence[GateResult]) -> str:
    """Return the artifact as the last repair left it."""
    repaired = [result.repaired for result in found if result.repaired is not None]
    return repaired[-1] if repaired else subject.artifact


@dataclass(slots=True)
class _EarlyVerdicts:
    """What gates have found so far: each is an event as soon as it is there."""

    request: SubagentRequest
    emit: EventSink
    by_gate: dict[str, GateResult] = field(default_factory=dict[str, GateResult])

    def handle(self, result: GateResult) -> None:
        self.by_gate[result.gate] = result
        self.emit(_gate_event(self.request, result))

    def complete(self, found: Sequence[GateResult]) -> tuple[GateResult, ...]:
        """Return all that was found, with an event for what had none.

        An earlier process had it checked, or nothing was found.
        """
        for result in found:
            if result.gate not in self.by_gate:
                self.handle(result)
        return tuple(found)

    def with_broken(self, names: Sequence[str], why: str) -> list[GateResult]:
        """Return what was found; the gates that are left are broken."""
        asked = [pair for _, pairs in build_pipeline(names).stages for pair in pairs]
        return [
            self.by_gate.get(gate.name) or GateResult.broken(gate.name, why, required=required)
            for gate, required in asked
        ]


def _gate_event(request: SubagentRequest, found: GateResult) -> GateEvent:
    return GateEvent(
        step=request.step,
        attempt=request.attempt,
        sample=request.sample,
        gate=found.gate,
        status=found.status,
        required=found.required,
        found=excerpt(format_diagnostics(found.diagnostics)),
        duration_s=found.duration_s,
    )


@dataclass(frozen=True, slots=True)
class Candidate:
    """What one request came to.

    Attributes:
        states: The Prefect states of its last task runs.
        pipeline_result: The gates' results, and what reviewers decided; None where there was
            nothing to check.
        reviews: What reviewers of it answered, and a judge.
    """

    request: SubagentRequest
    result: SubagentResult
    pipeline_result: PipelineResult | None
    states: tuple[State[Any], ...]
    reviews: tuple[SubagentResult, ...] = ()

    @property
    def category(self) -> Category | None:
        """What kind of failure it is; None if it is none."""
        if self.result.category is not None:
            return self.result.category
        stopper = self.pipeline_result and self.pipeline_result.stopped_by
        return (stopper.category or Category.UNKNOWN) if stopper else None

    @property
    def error(self) -> str | None:
        """What was wrong, for the next attempt."""
        if self.result.category is not None:
            return self.result.error
        stopper = self.pipeline_result and self.pipeline_result.stopped_by
        return (
            f"gate {stopper.gate}: {format_diagnostics(stopper.diagnostics)}" if stopper else None
        )

    @property
    def artifact(self) -> str:
        """The artifact, with all repairs."""
        return self.pipeline_result.artifact if self.pipeline_result else self.result.text

    @property
    def progress(self) -> tuple[bool, int]:
        """How far it got: past the model, and past how many gates."""
        passed = self.pipeline_result.results if self.pipeline_result else ()
        return self.result.category is None, sum(not result.stops for result in passed)


@dataclass(slots=True)
class Candidates:
    """Makes candidates, and has them checked by `inspections` and by reviewers."""

    context: RunContext
    inspections: Inspections
    clock: Callable[[], float] = field(default=run_time)
    _reviews: Reviews = field(init=False)

    def __post_init__(self) -> None:
        self._reviews = Reviews(self.context)

    async def make(
        self,
        step: CompiledStep,
        request: SubagentRequest,
        wait_for: Sequence[State[Any] | None],
        label: str,
    ) -> Candidate:
        """Ask a subagent and check what it made.

        Args:
            request: Within the budget already, under its key.
            label: Names the task runs, such as `attempt 2`.
        """
        name = f"{step.id}, {visible(step.agent, strict=True)}, {label}"
        event = TextEvent(step=step.id, attempt=request.attempt, sample=request.sample)
        streams = self.context.options.stream_text
        with task_context(on_tool_call=call_sink(self.context.emit, request)):
            state, result = await ask_subagent(
                self.context.ledger,
                request,
                name=name,
                wait_for=wait_for,
                clock=self.clock,
                streaming=text_events(self.context.emit, event, of_providers=streams),
            )
        made = Candidate(request, result, None, (state,))
        return made if result.category is not None else await self.check(step, made, label)

    async def check(self, step: CompiledStep, made: Candidate, label: str) -> Candidate:
        """Have the step's gates look at a candidate, then its reviewers.

        Args:
            label: Names the task runs.
        """
        if step.gates:
            pipeline_result, states = await self.inspections.inspect(
                step, made.request, made.result.text, made.states[-1], label
            )
            made = replace(made, pipeline_result=pipeline_result, states=states)
        if step.review is None or made.category is not None:
            return made
        reviewed = await self._reviews.review(
            step.review, made.request, made.artifact, made.states, label
        )
        return self._decided(made, reviewed)

    async def choose(
        self,
        judge: Reviewer,
        request: SubagentRequest,
        made: Sequence[Candidate],
        label: str,
    ) -> list[Candidate]:
        """Have a judge name the best of the candidates that passed, and return that one first.

        Args:
            request: What all of them answer.
            made: All candidates, those that passed first.
            label: Names the task run.
        """
        passed = {each.artifact: each for each in reversed(made) if each.category is None}
        distinct = [each for each in made if passed.get(each.artifact) is each]
        if len(distinct) < 2:
            return [*made]
        artifacts = [each.artifact for each in distinct]
        after = [state for each in distinct for state in each.states]
        judged = await self._reviews.judge(judge, request, artifacts, after, label)
        best = distinct[judged.best]
        return [self._decided(best, judged), *(each for each in made if each is not best)]

    def _decided(self, made: Candidate, reviewed: Reviewed) -> Candidate:
        """Return a candidate with what was decided about it behind what its gates found."""
        self.inspections.emit(_gate_event(made.request, reviewed.gate))
        before = made.pipeline_result.results if made.pipeline_result else ()
        return replace(
            made,
            pipeline_result=PipelineResult(made.artifact, (*before, reviewed.gate)),
            states=reviewed.states or made.states,
            reviews=(*made.reviews, *reviewed.answers),
        )
