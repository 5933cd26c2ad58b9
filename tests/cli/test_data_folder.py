"""Every command that uses the data folder says what is wrong with it, and ends with 2."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import Invoke

USING = [
    ["run", "x"],
    ["batch", "lines.jsonl"],
    ["eval", "cases.yaml"],
    ["resume", "12345678"],
    ["plan", "x"],
    ["runs"],
    ["inspect", "12345678"],
    ["train"],
    ["gates", "check", "a.py"],
    *(["memory", name] for name in ("stats", "rebuild", "vacuum", "personas")),
    ["memory", "search", "x"],
    ["memory", "show", "x"],
    ["memory", "export", "-"],
    ["memory", "import", "-"],
    ["memory", "forget", "--everything"],
    ["memory", "persona", "show", "judge"],
    ["memory", "persona", "retire", "judge"],
]


@pytest.mark.parametrize("arguments", USING, ids=" ".join)
def test_a_file_in_the_folders_place_is_wrong_settings(
    arguments: list[str], swarm_home: Path, invoke: Invoke
) -> None:
    swarm_home.touch()
    result = invoke(*arguments)
    assert result.exit_code == 2
    assert f"Error: The data folder {swarm_home} can't be" in result.stderr
    assert "Set PREFECT_INTEGRATIONS_SWARM_HOME to" in result.stderr
    assert result.stdout == ""


def test_doctor_says_it_among_its_findings(swarm_home: Path, invoke: Invoke) -> None:
    swarm_home.touch()
    result = invoke("doctor")
    assert result.exit_code == 1
    assert f"The data folder {swarm_home} can't be written to" in result.stdout


def test_a_home_that_is_no_folder_is_said(
    monkeypatch: pytest.MonkeyPatch, swarm_home: Path, invoke: Invoke
) -> None:
    swarm_home.touch()
    monkeypatch.setenv("PREFECT_INTEGRATIONS_SWARM_HOME", str(swarm_home / "within"))
    result = invoke("runs")
    assert result.exit_code == 2
    assert f"can't be read: {swarm_home} is not a folder" in result.stderr
