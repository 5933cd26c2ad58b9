"""Short ways to hold an artifact against a gate."""

from __future__ import annotations

import asyncio
from typing import Any

from prefect_swarm.gates import (
    Finding,
    Gate,
    GateResult,
    StepOutput,
    Subject,
    check,
    find_gate,
)
from prefect_swarm.plan.task_ir import Output, OutputKind


def subject(artifact: str, kind: OutputKind = "text", **fields: Any) -> Subject:
    upstream = tuple(StepOutput(name=name, text=text) for name, text in fields.pop("read", ()))
    output = Output.model_validate({"kind": kind, **fields}, strict=False)
    return Subject(artifact=artifact, output=output, upstream=upstream)


def found(gate: str, artifact: str, kind: OutputKind = "text", **fields: Any) -> Finding:
    return asyncio.run(find_gate(gate).check(subject(artifact, kind, **fields)))


def result(gate: Gate, asked: Subject, **options: Any) -> GateResult:
    return asyncio.run(check(gate, asked, **options))
