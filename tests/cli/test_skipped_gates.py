"""A gate that `gates check --gates` names has to look at the file: skipped is not passed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .conftest import Invoke

UNTESTED = "NUMBER = 1\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (path := tmp_path / "number.py").write_text(UNTESTED, "utf-8")
    return path


@pytest.mark.parametrize(
    ("gates", "message"),
    [
        ("schema", "Not passed: schema was asked for and skipped (it is for json, not for python)"),
        ("+form", "Not passed: form was asked for and skipped (it is for text, not for python)"),
        ("lint,unit", "Not passed: unit was asked for and skipped (nothing to test it with"),
        ("integration", "Not passed: integration was asked for and skipped (there are no two"),
    ],
)
def test_a_gate_that_was_asked_for_and_skipped_is_not_passed(
    gates: str, message: str, file: Path, invoke: Invoke
) -> None:
    result = invoke("gates", "check", file, "--gates", gates)
    assert result.exit_code == 1
    assert message in result.stdout
    assert "Passed." not in result.stdout


def test_one_that_says_nothing_itself_is_said_to_have_had_nothing_to_look_at(
    tmp_path: Path, invoke: Invoke
) -> None:
    (text := tmp_path / "text.txt").write_text("As [S1] says.", "utf-8")
    result = invoke("gates", "check", text, "--gates", "citations")
    assert result.exit_code == 1
    assert "citations was asked for and skipped (it has nothing to look at)" in result.stdout


def test_as_json_it_is_named_with_why(file: Path, invoke: Invoke) -> None:
    result = invoke("gates", "check", file, "--gates", "lint,schema", "--json")
    content = json.loads(result.stdout)
    assert (result.exit_code, content["passed"]) == (1, False)
    assert content["unchecked"] == {"schema": "it is for json, not for python"}


@pytest.mark.parametrize("gates", ["schema?", "+schema?,-unit", "-lint,-unit"])
def test_one_that_is_optional_or_was_not_asked_for_may_be_skipped(
    gates: str, file: Path, invoke: Invoke
) -> None:
    result = invoke("gates", "check", file, "--gates", gates, "--json")
    content = json.loads(result.stdout)
    assert "skipped" in {gate["status"] for gate in content["gates"]}
    assert (result.exit_code, content["passed"], content["unchecked"]) == (0, True, {})


def test_it_is_told_beside_what_stopped_the_file(tmp_path: Path, invoke: Invoke) -> None:
    (wrong := tmp_path / "wrong.py").write_text("print(number)\n", "utf-8")
    result = invoke("gates", "check", wrong, "--gates", "lint,schema")
    assert result.exit_code == 1
    assert "Stopped by lint.\nNot passed: schema was asked for and skipped" in result.stdout
