"""examples/slug.json can be passed, and what is wrong doesn't pass."""

from __future__ import annotations

import asyncio

import pytest
from docs_pages import ROOT
from prefect_swarm.gates import (
    Gate,
    GateResult,
    PipelineResult,
    StepOutput,
    Subject,
    build_pipeline,
    check,
    gates,
    run_pipeline,
    select_gates,
)
from prefect_swarm.plan.task_ir import PlanRules, load_plan

PLAN = load_plan(ROOT / "examples" / "slug.json", PlanRules(gates=frozenset(gates())))
SLUGIFY = """\
import re


def slugify(title):
    return "-".join(re.findall("[a-z0-9]+", title.lower()))
"""
HASTY = 'def slugify(title):\n    return title.lower().replace(" ", "-")\n'
TESTS = """\
from slug import slugify


def test_capitals():
    assert slugify("Hello") == "hello"


def test_spaces():
    assert slugify("a   b") == "a-b"
"""
SCRIPT = "#!/bin/bash\npython3 -c \"from slug import slugify; print(slugify('$1'))\"\n"
UNQUOTED = SCRIPT.replace("python3", "cd $1\npython3")


def run_gates(step: str, artifact: str, *read: str) -> PipelineResult:
    asked = next(planned for planned in PLAN.steps if planned.id == step)
    upstream = tuple(StepOutput(name="S1", kind="python", text=text) for text in read)
    subject = Subject(artifact=artifact, output=asked.output, upstream=upstream)

    async def run_gate(gate: Gate, given: Subject, required: bool) -> GateResult:
        return await check(gate, given, required=required)

    return asyncio.run(
        run_pipeline(build_pipeline(select_gates(asked.output, asked.gates)), subject, run_gate)
    )


@pytest.mark.parametrize(
    ("step", "artifact", "read"),
    [("S1", SLUGIFY, ()), ("S2", TESTS, (SLUGIFY,)), ("S3", SCRIPT, (SLUGIFY,))],
)
def test_what_is_right_passes(step: str, artifact: str, read: tuple[str, ...]) -> None:
    assert run_gates(step, artifact, *read).stopped_by is None


@pytest.mark.parametrize(
    ("step", "artifact", "read", "gate"),
    [
        ("S1", HASTY, (), "unit"),
        ("S1", SLUGIFY.replace("import re", ""), (), "lint"),
        ("S2", TESTS.replace('== "hello"', '== "Hello"'), (SLUGIFY,), "unit"),
        ("S3", UNQUOTED, (SLUGIFY,), "shellcheck"),
    ],
)
def test_what_is_wrong_does_not(step: str, artifact: str, read: tuple[str, ...], gate: str) -> None:
    stopper = run_gates(step, artifact, *read).stopped_by
    assert stopper is not None
    assert stopper.gate == gate
