"""Repairs, then light gates side by side, then tests; what stops the artifact stops the line."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from gate_checks import subject
from prefect_swarm.errors import Category, InputError
from prefect_swarm.gates import Gate, GateResult, Passage, Subject, check, line_of, run_line
from prefect_swarm.task_ir import OutputKind

BAD, UGLY = "def f(:\n", "def f(a):\n  return  a\n"


def run(names: Sequence[str], text: str, kind: OutputKind = "python") -> Passage:
    async def one(gate: Gate, asked: Subject, required: bool) -> GateResult:
        return await check(gate, asked, required=required)

    return asyncio.run(run_line(line_of(names), subject(text, kind), one))


def test_the_repaired_artifact_goes_on() -> None:
    passage = run(("lint", "format"), UGLY)
    assert passage.artifact == "def f(a):\n    return a\n"
    assert [result.gate for result in passage.results] == ["format", "lint"]
    assert passage.results[0].artifact != passage.results[1].artifact
    assert passage.stopped_by is None


def test_the_first_failure_stops_the_line() -> None:
    passage = run(("lint", "format"), BAD)
    assert [result.gate for result in passage.results] == ["format"]
    assert passage.stopped_by is not None
    assert passage.stopped_by.category is Category.FORMAT


def test_an_optional_failure_stops_nothing() -> None:
    passage = run(("format?", "lint?"), BAD)
    assert [result.status for result in passage.results] == ["failed", "failed"]
    assert passage.stopped_by is None


def test_gates_of_a_stage_are_under_way_together() -> None:
    under_way: list[str] = []
    together = asyncio.Event()

    async def meet(gate: Gate, asked: Subject, required: bool) -> GateResult:
        under_way.append(gate.name)
        if len(under_way) == 2:
            together.set()
        await asyncio.wait_for(together.wait(), 10)
        return GateResult(gate=gate.name, status="passed")

    passage = asyncio.run(run_line(line_of(("repetition", "length")), subject("a"), meet))
    assert len(passage.results) == 2


def test_nothing_to_pass_is_passed() -> None:
    assert run((), BAD) == Passage(BAD, ())


def test_an_unknown_gate_is_named_with_those_there_are() -> None:
    with pytest.raises(InputError, match=r"'spelling'.*There are schema, shellcheck"):
        line_of(("spelling",))
