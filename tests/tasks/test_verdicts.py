"""The words of a task run's state about gates."""

from __future__ import annotations

from prefect_swarm.errors import Category
from prefect_swarm.gates import Diagnostic, GateResult, GateStatus
from prefect_swarm.tasks.gates import summary


def verdict(gate: str, status: GateStatus, found: str = "", **fields: object) -> GateResult:
    diagnostics = (Diagnostic(message=found),) if found else ()
    category = Category.FORMAT if status == "failed" else None
    result = GateResult(gate=gate, status=status, category=category, diagnostics=diagnostics)
    return result.model_copy(update=fields)


def test_failed_gates_are_counted_and_say_what_they_found() -> None:
    results = [
        verdict("length", "failed", "12 words, not 50"),
        verdict("form", "passed"),
        verdict("citations", "failed", "no [S1]"),
    ]
    words = summary(results, ("length", "form", "citations"))
    assert words == "2 of 3 gates failed: length: 12 words, not 50; citations: no [S1]"


def test_gates_behind_a_failure_are_named() -> None:
    results = [verdict("format", "failed", "line 1: invalid syntax")]
    words = summary(results, ("format", "lint", "typecheck?"))
    assert words == (
        "1 of 3 gates failed: format: line 1: invalid syntax. Not asked: lint, typecheck"
    )


def test_what_stops_nothing_is_told_behind_what_passed() -> None:
    diff = "--- as written\n+++ repaired\n@@ -1 +1 @@\n-x=1\n+x = 1"
    results = [
        verdict("format", "passed", diff=diff),
        verdict("lint", "passed"),
        verdict("typecheck", "failed", "no such name", required=False),
        verdict("citations", "skipped"),
    ]
    words = summary(results, ("format", "lint", "typecheck?", "citations"))
    assert words == (
        "2 of 4 gates passed. format passed after a repair, a diff of 2 lines. "
        "typecheck failed (optional): no such name. citations skipped"
    )


def test_a_gate_of_its_own_is_named_with_its_verdict() -> None:
    assert summary([verdict("unit", "passed")], ("unit",)) == "unit passed"
    failed = verdict("unit", "failed", "test_a: assert 1 == 2")
    assert summary([failed], ("unit",)) == "unit failed: test_a: assert 1 == 2"


def test_a_long_finding_is_cut() -> None:
    assert len(summary([verdict("unit", "failed", "x" * 9000)], ("unit",))) < 600
