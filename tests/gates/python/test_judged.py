"""Wrong code fails and right code passes all gates of a step in Python."""

from __future__ import annotations

import asyncio

import pytest
from prefect_swarm.gates import (
    Gate,
    GateResult,
    Subject,
    build_pipeline,
    check,
    run_pipeline,
)
from prefect_swarm.plan.task_ir import Output
from right_python import RIGHT
from wrong_python import WRONG

PIPELINE = build_pipeline(["format", "lint", "unit"])


def last(artifact: str) -> GateResult:
    """Return the result that decides: of the gate that stops, else of the last."""

    async def judge(gate: Gate, asked: Subject, required: bool) -> GateResult:
        return await check(gate, asked, required=required)

    subject = Subject(artifact=artifact, output=Output(kind="python"))
    done = asyncio.run(run_pipeline(PIPELINE, subject, judge))
    return done.stopped_by or done.results[-1]


@pytest.mark.parametrize("kind", WRONG)
def test_what_is_wrong_is_refused(kind: str) -> None:
    result = last(WRONG[kind])
    assert (result.status, len(result.diagnostics) > 0) == ("failed", True)


@pytest.mark.parametrize("kind", RIGHT)
def test_what_is_right_passes(kind: str) -> None:
    result = last(RIGHT[kind])
    assert (result.status, result.diagnostics) == ("passed", ())
