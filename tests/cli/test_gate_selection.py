"""`gates check` goes by the gates that are asked for, a kind, or a plan's step."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from .conftest import Invoke, Written
from .gates_said import TIDY, statuses

PLAN: dict[str, Any] = {
    "objective": "Greet them",
    "agents": [{"name": "Clerk", "system_prompt": "You write."}],
    "steps": [
        {
            "id": "S1",
            "agent": "Clerk",
            "prompt": "Write greet",
            "output": {
                "kind": "python",
                "examples": [{"call": "greet('Ann')", "gives": "Hello Ann"}],
            },
        },
        {
            "id": "S2",
            "agent": "Clerk",
            "prompt": "Say how many",
            "output": {"kind": "text", "form": "number"},
        },
        {"id": "S3", "agent": "Clerk", "prompt": "Say it", "gates": []},
    ],
}


def test_gates_replace_the_kinds_own(written: Written, invoke: Invoke) -> None:
    result = invoke(
        "gates", "check", written("a.py", "print(name)\n"), "--gates", "format", "--json"
    )
    assert (result.exit_code, statuses(result)) == (0, {"format": "passed"})


def test_gates_with_signs_change_the_kinds_own(written: Written, invoke: Invoke) -> None:
    path = written("a.py", "print(name)\n")
    asked = "lint?, -unit,-integration"
    result = invoke("gates", "check", path, "--gates", "+" + asked, "--json")
    assert (result.exit_code, statuses(result)) == (0, {"format": "passed", "lint": "failed"})
    assert "failed (optional)" in invoke("gates", "check", path, "--gates", "+" + asked).stdout


def test_a_gate_that_is_not_there_is_refused(written: Written, invoke: Invoke) -> None:
    result = invoke("gates", "check", written("a.json", "{}"), "--gates", "magic")
    assert result.exit_code == 2
    assert "magic" in result.stderr
    assert "schema" in result.stderr


def test_kind_says_what_a_name_does_not(written: Written, invoke: Invoke) -> None:
    path = written("artifact", "{}")
    assert statuses(invoke("gates", "check", path, "--kind", "json", "--json")) == {
        "schema": "passed"
    }
    assert statuses(invoke("gates", "check", path, "--kind", "text", "--json")) == {
        "repetition": "passed"
    }


@pytest.mark.parametrize(
    ("more", "message"), [((), "a.xyz is not known."), (("--kind", "odt"), "odt")]
)
def test_a_file_of_no_known_kind_is_refused(
    more: tuple[str, ...], message: str, written: Written, invoke: Invoke
) -> None:
    result = invoke("gates", "check", written("a.xyz", "x"), *more)
    assert result.exit_code == 2
    assert message in result.stderr
    assert "Give --kind text, json, python, shell or files." in result.stderr


def test_a_file_that_can_not_be_read_is_refused(tmp_path: Path, invoke: Invoke) -> None:
    (tmp_path / "a.txt").write_bytes(b"\xff\xfe")
    for name in ("a.txt", "gone.txt"):
        result = invoke("gates", "check", tmp_path / name)
        assert result.exit_code == 2
        assert f"{name} can't be read" in result.stderr


def test_a_plan_says_what_the_file_has_to_be(written: Written, invoke: Invoke) -> None:
    plan, number = written("plan.json", json.dumps(PLAN)), written("answer", "7 km")
    words = written("words", "Seven or so")
    of_second = ("--plan", plan, "--step", "S2")
    assert invoke("gates", "check", number, *of_second).exit_code == 0
    result = invoke("gates", "check", words, *of_second)
    assert (result.exit_code, result.stdout.splitlines()[-1]) == (1, "Stopped by form.")
    of_third = invoke("gates", "check", words, "--plan", plan, "--step", "S3", "--json")
    assert (of_third.exit_code, statuses(of_third)) == (0, {})


def test_the_examples_of_a_plans_first_step_test_a_file(written: Written, invoke: Invoke) -> None:
    plan = written("plan.json", json.dumps(PLAN))
    right = invoke("gates", "check", written("right.py", TIDY), "--plan", plan, "--json")
    assert (right.exit_code, statuses(right)["unit"]) == (0, "passed")
    other = written("other.py", TIDY.replace("Hello", "Bye"))
    wrong = invoke("gates", "check", other, "--plan", plan)
    assert wrong.exit_code == 1
    assert "greet('Ann') gave 'Bye Ann', expected 'Hello Ann'" in wrong.stdout


@pytest.mark.parametrize("gates", ["", ",", "-schema"])
def test_asking_for_no_gate_at_all_is_refused(gates: str, written: Written, invoke: Invoke) -> None:
    result = invoke("gates", "check", written("a.json", "{}"), f"--gates={gates}")
    assert result.exit_code == 2
    assert "No gate is left to check" in result.stderr


def test_a_step_that_a_plan_lacks_is_refused(written: Written, invoke: Invoke) -> None:
    plan = written("plan.json", json.dumps(PLAN))
    result = invoke("gates", "check", written("a.py", TIDY), "--plan", plan, "--step", "S9")
    assert result.exit_code == 2
    assert "has no step 'S9'" in result.stderr
    assert "There are S1, S2, S3." in result.stderr
