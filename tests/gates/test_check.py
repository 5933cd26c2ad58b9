"""Whatever a gate does, there is one result: in time, once for each content, with its evidence."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from gate_checks import result, subject
from prefect_swarm.errors import Category, GateError
from prefect_swarm.gates import Finding, GateCache, Stage, Subject, format_diagnostics
from prefect_swarm.plan.task_ir import OutputKind


async def _passes(_: Subject) -> Finding:
    return Finding(status="passed")


@dataclass
class Scripted:
    """A gate that does what it is told."""

    does: Callable[[Subject], Coroutine[Any, Any, Finding]] = _passes
    name: str = "scripted"
    about: str = "whatever"
    kinds: frozenset[OutputKind] = frozenset({"text"})
    stage: Stage = "light"
    timeout_s: float = 30.0
    tool: str = "tool 1"
    calls: int = 0

    def version(self) -> str:
        return self.tool

    async def check(self, subject: Subject) -> Finding:
        self.calls += 1
        return await self.does(subject)


def raises(error: Exception) -> Callable[[Subject], Coroutine[Any, Any, Finding]]:
    async def fail(_: Subject) -> Finding:
        raise error

    return fail


async def never(_: Subject) -> Finding:
    await asyncio.Event().wait()
    raise AssertionError


def test_the_result_says_what_was_checked_by_what_and_how_long_it_took() -> None:
    ticks = iter([1.0, 3.5])
    found = result(Scripted(), subject("abc"), clock=lambda: next(ticks))
    assert (found.status, found.gate, found.version) == ("passed", "scripted", "tool 1")
    assert found.duration_s == 2.5
    assert found.artifact.startswith("ba7816bf")  # SHA-256 of abc


def test_an_output_it_is_not_for_is_skipped() -> None:
    assert result(Scripted(), subject("{}", "json")).status == "skipped"


@pytest.mark.parametrize(
    ("error", "category"),
    [
        (GateError("no tool", "install it"), Category.INFRASTRUCTURE),
        (RuntimeError("a bug"), Category.INFRASTRUCTURE),
    ],
)
def test_a_gate_that_breaks_is_no_fault_of_the_artifact(
    error: Exception, category: Category
) -> None:
    found = result(Scripted(raises(error)), subject("abc"))
    assert (found.status, found.category) == ("error", category)
    assert found.stops
    assert str(error.args[0]) in str(found.diagnostics[0])


def test_a_gate_that_is_late_is_a_timeout() -> None:
    found = result(Scripted(never, timeout_s=0.01), subject("abc"))
    assert (found.status, found.category) == ("failed", Category.TIMEOUT)


def test_an_optional_gate_that_is_late_is_skipped() -> None:
    found = result(Scripted(never, timeout_s=0.01), subject("abc"), required=False)
    assert (found.status, found.stops) == ("skipped", False)


def test_a_repair_is_kept_with_its_difference() -> None:
    async def shout(asked: Subject) -> Finding:
        return Finding(status="passed", repaired=asked.artifact.upper())

    found = result(Scripted(shout), subject("one\ntwo"))
    assert found.repaired == "ONE\nTWO"
    assert "-one" in found.diff
    assert "+ONE" in found.diff


@pytest.fixture
def cache(tmp_path: Path) -> GateCache:
    return GateCache(tmp_path / "gates")


def test_the_same_content_is_checked_once(cache: GateCache) -> None:
    gate = Scripted()
    first = result(gate, subject("abc"), cache=cache)
    again = result(gate, subject("abc"), cache=cache, required=False)
    assert (first.cached, again.cached, gate.calls) == (False, True, 1)
    assert again.duration_s == first.duration_s
    assert not again.required


def test_another_content_question_or_tool_is_checked_again(cache: GateCache) -> None:
    gate = Scripted()
    result(gate, subject("abc"), cache=cache)
    result(gate, subject("abcd"), cache=cache)
    result(gate, subject("abc", max_words=3), cache=cache)
    gate.tool = "tool 2"
    result(gate, subject("abc"), cache=cache)
    assert gate.calls == 4


def test_what_is_no_verdict_is_not_remembered(cache: GateCache) -> None:
    gate = Scripted(raises(RuntimeError("once")))
    result(gate, subject("abc"), cache=cache)
    gate.does = _passes
    assert result(gate, subject("abc"), cache=cache).status == "passed"


def test_a_damaged_memory_is_none(cache: GateCache) -> None:
    gate = Scripted()
    result(gate, subject("abc"), cache=cache)
    (file,) = cache.folder.rglob("*.json")
    file.write_text("{", encoding="utf-8")
    assert result(gate, subject("abc"), cache=cache).status == "passed"
    assert gate.calls == 2


def test_a_memory_that_cannot_be_written_costs_nothing(tmp_path: Path) -> None:
    (tmp_path / "gates").write_text("a file where a folder belongs", encoding="utf-8")
    assert (
        result(Scripted(), subject("abc"), cache=GateCache(tmp_path / "gates")).status == "passed"
    )


def test_a_gate_that_finds_nothing_at_all_is_broken() -> None:
    async def nothing(_: Subject) -> Finding:
        return None  # type: ignore[return-value]

    found = result(Scripted(nothing), subject("abc"))
    assert (found.status, found.category) == ("error", Category.INFRASTRUCTURE)


def test_a_timeout_of_the_gates_own_is_not_taken_for_ours() -> None:
    assert result(Scripted(raises(TimeoutError("no answer"))), subject("abc")).status == "error"


def test_a_busy_minute_is_not_remembered(cache: GateCache) -> None:
    gate = Scripted(never, timeout_s=0.01)
    result(gate, subject("abc"), cache=cache)
    gate.does, gate.timeout_s = _passes, 30.0
    assert result(gate, subject("abc"), cache=cache).status == "passed"


@pytest.mark.parametrize("kind", ["text", "json", "python", "shell", "files"])
def test_half_of_a_character_is_the_artifacts_fault(kind: OutputKind, tmp_path: Path) -> None:
    gate = Scripted(kinds=frozenset({kind}))
    found = result(gate, subject("a\nb \ud800\n", kind), cache=GateCache(tmp_path))
    assert (found.status, found.category, gate.calls) == ("failed", Category.FORMAT, 0)
    assert format_diagnostics(found.diagnostics).startswith("line 2, column 3: '\\ud800' is half")
