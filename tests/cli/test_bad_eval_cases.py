"""`eval` reports problems before anything is run."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from .conftest import EXAMPLES, Invoke, Written

PLAIN = "cases: [{name: a, objective: b, checks: {judge: {rubric: c, model: 'MODEL'}}}]"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("cases: {", "is not valid YAML"),
        ("cases: []", "has no cases"),
        ("cases: [{name: a, objective: b, chekcs: {}}]", "line 1: case a: chekcs"),
        ("cases: [{name: a, plan: gone.json}]", "Case a: The plan file"),
        (PLAIN.replace("MODEL", "nonesuch"), "The judge of case a: "),
        (PLAIN.replace("MODEL", "llamacpp:/gone.gguf"), "The judge of case a: "),
    ],
)
def test_what_is_wrong_is_said_before_anything_runs(
    invoke: Invoke, written: Written, swarm_home: Path, text: str, problem: str
) -> None:
    result = invoke("eval", written("cases.yaml", text), "--model", "test", "--json")
    assert result.exit_code == 2, result.stderr
    assert problem in json.loads(result.stdout)["problem"]
    assert not (swarm_home / "runs").exists()


def test_a_file_that_is_missing_is_named(invoke: Invoke) -> None:
    result = invoke("eval", "gone.yaml")
    assert result.exit_code == 2
    assert "The cases file gone.yaml can't be read" in result.stderr


def test_a_baseline_that_is_no_report_is_named(invoke: Invoke) -> None:
    result = invoke(
        "eval", EXAMPLES / "cases.yaml", "--baseline", EXAMPLES / "report.json", "--model", "test"
    )
    assert result.exit_code == 2
    assert "is none of an evaluation" in result.stderr


def test_without_pydantic_evals_it_says_what_to_install(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pydantic_evals", None)
    result = invoke("eval", EXAMPLES / "cases.yaml")
    assert result.exit_code == 2
    assert "pip install 'prefect-swarm[eval]'" in result.stderr
