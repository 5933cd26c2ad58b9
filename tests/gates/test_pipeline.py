"""Repairs, then light gates side by side, then tests; a required failure stops the pipeline."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from gate_checks import subject
from prefect_swarm.errors import Category, InputError
from prefect_swarm.gates import (
    Gate,
    GateResult,
    PipelineResult,
    Subject,
    build_pipeline,
    check,
    run_pipeline,
)
from prefect_swarm.plan.task_ir import OutputKind

BAD, UGLY = "def f(:\n", "def f(a):\n  return  a\n"


def run(names: Sequence[str], text: str, kind: OutputKind = "python") -> PipelineResult:
    async def run_gate(gate: Gate, asked: Subject, required: bool) -> GateResult:
        return await check(gate, asked, required=required)

    return asyncio.run(run_pipeline(build_pipeline(names), subject(text, kind), run_gate))


def test_the_repaired_artifact_goes_on() -> None:
    found = run(("lint", "format"), UGLY)
    assert found.artifact == "def f(a):\n    return a\n"
    assert [result.gate for result in found.results] == ["format", "lint"]
    assert found.results[0].artifact != found.results[1].artifact
    assert found.stopped_by is None


def test_the_first_failure_stops_the_pipeline() -> None:
    found = run(("lint", "format"), BAD)
    assert [result.gate for result in found.results] == ["format"]
    assert found.stopped_by is not None
    assert found.stopped_by.category is Category.FORMAT


def test_an_optional_failure_stops_nothing() -> None:
    found = run(("format?", "lint?"), BAD)
    assert [result.status for result in found.results] == ["failed", "failed"]
    assert found.stopped_by is None


def test_gates_of_a_stage_are_under_way_together() -> None:
    under_way: list[str] = []
    together = asyncio.Event()

    async def meet(gate: Gate, asked: Subject, required: bool) -> GateResult:
        under_way.append(gate.name)
        if len(under_way) == 2:
            together.set()
        await asyncio.wait_for(together.wait(), 10)
        return GateResult(gate=gate.name, status="passed")

    found = asyncio.run(run_pipeline(build_pipeline(("repetition", "length")), subject("a"), meet))
    assert len(found.results) == 2


def test_nothing_to_pass_is_passed() -> None:
    assert run((), BAD) == PipelineResult(BAD, ())


def test_an_unknown_gate_is_named_with_those_there_are() -> None:
    with pytest.raises(InputError, match=r"'spelling'.*There are schema, shellcheck"):
        build_pipeline(("spelling",))


def test_a_pipeline_divides_into_what_needs_no_sandbox_and_the_rest() -> None:
    pipeline = build_pipeline(("unit", "lint?", "integration?", "format"))
    assert pipeline.names == ("format", "lint?", "unit", "integration?")
    assert pipeline.light.names == ("format", "lint?")
    assert pipeline.heavy.names == ("unit", "integration?")
    assert build_pipeline(pipeline.names) == pipeline
