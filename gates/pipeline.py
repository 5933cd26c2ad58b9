"""The pipeline of gates that an artifact goes through, and its result."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from .gate import LIGHT_STAGES, STAGES, Gate, Stage, Subject
from .registry import find_gate
from .result import GateResult
from .selection import gate_name, is_required

__all__ = ["GatePipeline", "PipelineResult", "build_pipeline", "run_pipeline"]

CheckGate = Callable[[Gate, Subject, bool], Awaitable[GateResult]]


@dataclass(frozen=True, slots=True)
class GatePipeline:
    """The gates of one artifact by stage, each with whether it has to be passed."""

    stages: tuple[tuple[Stage, tuple[tuple[Gate, bool], ...]], ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The gates as `build_pipeline` takes them, in the order of their stages."""
        return tuple(
            gate.name if required else f"{gate.name}?"
            for _, gates in self.stages
            for gate, required in gates
        )

    @property
    def light(self) -> GatePipeline:
        """Its first stages, whose gates need no sandbox."""
        return GatePipeline(tuple(stage for stage in self.stages if stage[0] in LIGHT_STAGES))

    @property
    def heavy(self) -> GatePipeline:
        """The stages behind those."""
        return GatePipeline(tuple(stage for stage in self.stages if stage[0] not in LIGHT_STAGES))


@dataclass(frozen=True, slots=True)
class PipelineResult:
    """Each gate's result, and the artifact with all repairs."""

    artifact: str
    results: tuple[GateResult, ...]

    @property
    def stopped_by(self) -> GateResult | None:
        """The first gate that the artifact had to pass and didn't."""
        return next((result for result in self.results if result.stops), None)


def build_pipeline(names: Sequence[str]) -> GatePipeline:
    """Order gates by their stages, and within a stage as they are named. Pure.

    Args:
        names: As `select_gates` gives them; `?` behind a gate that stops nothing.

    Raises:
        InputError: There is no such gate.
    """
    found = [(find_gate(gate_name(name)), is_required(name)) for name in names]
    stages: list[tuple[Stage, tuple[tuple[Gate, bool], ...]]] = [
        (stage, tuple((gate, required) for gate, required in found if gate.stage == stage))
        for stage in STAGES
    ]
    return GatePipeline(tuple(stage for stage in stages if stage[1]))


async def run_pipeline(
    pipeline: GatePipeline, subject: Subject, check: CheckGate
) -> PipelineResult:
    """Run a subject through a pipeline; after a stage with a failure that stops, nothing runs.

    Repairs go one after another, each on what the last one left; the gates of another stage run
    side by side.
    """
    results: list[GateResult] = []
    for stage, gates in pipeline.stages:
        if stage == "repair":
            for gate, required in gates:
                results.append(await check(gate, subject, required))
                if (repaired := results[-1].repaired) is not None:
                    subject = subject.model_copy(update={"artifact": repaired})
        else:
            checks = [check(gate, subject, required) for gate, required in gates]
            results += await asyncio.gather(*checks)
        if any(result.stops for result in results):
            break
    return PipelineResult(subject.artifact, tuple(results))
