"""Task runs for the gates of an artifact: one for all that need no sandbox, one for each other."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from prefect.client.schemas.objects import State

from ..events.kinds import GateEvent, Tell
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
from ..result import excerpt
from ..tasks.gates import Inspection, Verdicts, gates, verdicts_heard
from ..tasks.subagent.request import SubagentRequest
from .compile import CompiledStep
from .task_run import run_task

__all__ = ["Inspections"]


@dataclass(frozen=True, slots=True)
class Inspections:
    """Has artifacts checked. `light` bounds the light gates that run at once."""

    tell: Tell
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
            found = await self._run("light", light, subject, "gates")
            if any(result.stops for result in found):
                return PipelineResult(_last(subject, found), found), self.states["light"]
            subject = subject.model_copy(update={"artifact": _last(subject, found)})
        heavy = await run_pipeline(pipeline.heavy, subject, self._check_heavy)
        states = [*self.states.values()][-1]
        return PipelineResult(heavy.artifact, (*found, *heavy.results)), states

    async def _check_heavy(self, gate: Gate, subject: Subject, required: bool) -> GateResult:
        name = gate.name if required else f"{gate.name}?"
        (found,) = await self._run(gate.stage, (name,), subject, f"gate {gate.name}")
        return found

    async def _run(
        self, stage: str, names: Sequence[str], subject: Subject, what: str
    ) -> tuple[GateResult, ...]:
        """Return what some gates found; those behind a failure that stops found nothing."""
        heard: dict[str, GateResult] = {}

        def hear(result: GateResult) -> None:
            heard[result.gate] = result
            self.inspections.tell(_gate_event(self.request, result))

        inspection = Inspection.of(self.request.cache_key(), names, subject, self.request.race)
        with verdicts_heard(hear, self.inspections.light):
            state, content = await run_task(
                gates,
                inspection,
                name=f"{self.step} · {what} · {self.label}",
                wait_for=self._before(stage),
            )
        self.states[stage] = (*self.states.get(stage, ()), state)
        if isinstance(content, dict):
            found = Verdicts.model_validate(content).results
        else:
            found = _broken(names, heard, repr(content))
        for result in found:
            # An earlier process had it checked, or nothing was found.
            if result.gate not in heard:
                hear(result)
        return found

    def _before(self, stage: str) -> tuple[State[Any], ...]:
        """Return the states of the stage before this one."""
        return next(states for name, states in reversed(self.states.items()) if name != stage)


def _last(subject: Subject, found: Sequence[GateResult]) -> str:
    """Return the artifact as the last repair left it."""
    repaired = [result.repaired for result in found if result.repaired is not None]
    return repaired[-1] if repaired else subject.artifact


def _broken(names: Sequence[str], heard: dict[str, GateResult], why: str) -> tuple[GateResult, ...]:
    """Return what was found before a task run broke; the gates that are left broke with it."""
    asked = [pair for _, pairs in build_pipeline(names).stages for pair in pairs]
    return tuple(
        heard.get(gate.name) or GateResult.broken(gate.name, why, required=required)
        for gate, required in asked
    )


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
