"""`fork` and `diff` on a real Prefect server."""

from __future__ import annotations

import json
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from scripted import Script, scripted

from .conftest import Invoke, finished_run

pytestmark = pytest.mark.usefixtures("prefect_server")

PLAN: dict[str, Any] = {
    "objective": "Find out",
    "agents": [{"name": "Reader", "system_prompt": "You read closely."}],
    "steps": [
        {"id": "S1", "agent": "Reader", "prompt": "do S1"},
        {"id": "S2", "agent": "Reader", "prompt": "do S2", "depends_on": ["S1"]},
        {"id": "S3", "agent": "Reader", "prompt": "do S3", "depends_on": ["S2"]},
    ],
}


@pytest.fixture(autouse=True)
def script() -> Generator[Script]:
    with scripted(Script(reply=lambda prompt: f"about {prompt[-5:]}")) as made:
        yield made


@pytest.fixture
def source(invoke: Invoke, tmp_path: Path, script: Script) -> str:
    run = finished_run(invoke, tmp_path, PLAN)
    script.prompts.clear()
    return run


def fork(invoke: Invoke, *arguments: object) -> dict[str, Any]:
    result = invoke("fork", *arguments, "--json")
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def test_a_step_and_what_depends_on_it_are_done_anew(
    invoke: Invoke, source: str, script: Script
) -> None:
    result = invoke("fork", source, "--from", "s2")
    assert result.exit_code == 0, result.stderr
    assert "1 of 3 steps taken over, 2 left to do." in result.stderr
    (line,) = [line for line in result.stderr.splitlines() if " S1 " in line]
    assert line.endswith(f"S1 Reader finished: taken over from run {source}")
    assert f"Plan of 3 steps (that of run {source})" in result.stdout
    assert f"Taken over: S1 from run {source}." in result.stdout
    assert "2 calls" in result.stdout
    assert [prompt[-5:] for prompt in script.prompts] == ["do S2", "do S3"]


def test_both_runs_show_the_whole_output(invoke: Invoke, source: str) -> None:
    name = fork(invoke, source, "--from", "S3")["run_id"]
    shown = invoke("inspect", name, "--step", "S1").stdout
    assert f"It was taken over from run {source}, which has its attempts" in shown
    assert f"prefect-swarm inspect {source} --step S1" in shown
    for run in (source, name):
        read = json.loads(invoke("inspect", run, "--step", "S1", "--json").stdout)
        assert read["output"] == "about do S1"
    assert f"Taken over: S1, S2 from run {source}." in invoke("inspect", name).stdout


def test_an_edited_plan_takes_the_place_of_the_sources(
    invoke: Invoke, source: str, script: Script, tmp_path: Path
) -> None:
    edited = invoke("edit", source).stdout.replace("do S3", "end S3")
    (path := tmp_path / "edited.yaml").write_text(edited, "utf-8")
    result = fork(invoke, source, "--plan", path)
    assert [bool(step["taken_from"]) for step in result["steps"]] == [True, True, False]
    assert [prompt[-6:] for prompt in script.prompts] == ["end S3"]


def test_all_options_of_a_run_can_be_given(invoke: Invoke, source: str, swarm_home: Path) -> None:
    name = fork(
        invoke, source, "--from", "S3", "--seed", "4", "--tool-limit", "calls=3", "--no-adapter"
    )["run_id"]
    options = json.loads((swarm_home / "runs" / name / "run.json").read_text("utf-8"))["options"]
    assert (options["seed"], options["adapter"], options["memory"]) == (4, False, False)
    assert options["tool_limits"]["calls"] == 3


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--from", "S9"], "The plan has no step 'S9'. There are S1 to S3."),
        ([], "would do nothing: all 3 steps are finished."),
        (["--plan", "missing.yaml"], "can't be read"),
        (["--from", "S1", "--max-steps", "2"], "more than the limit of 2"),
        (["--json", "--stream"], "exclude each other"),
    ],
)
def test_what_cannot_be_forked_says_why(
    invoke: Invoke, source: str, arguments: list[str], problem: str
) -> None:
    result = invoke("fork", source, *arguments)
    assert result.exit_code == 2
    assert problem in " ".join(result.stderr.split())


def test_a_plan_with_problems_has_their_lines(invoke: Invoke, source: str, tmp_path: Path) -> None:
    edited = invoke("edit", source).stdout.replace("- S2", "- S7")
    (path := tmp_path / "edited.yaml").write_text(edited, "utf-8")
    result = invoke("fork", source, "--plan", path)
    assert result.exit_code == 2
    assert "depends on S7, which is not a step of the plan" in " ".join(result.stderr.split())


def test_an_unknown_run_is_refused(invoke: Invoke, source: str) -> None:
    assert invoke("fork", "abcdefabcdef").exit_code == 2
    assert invoke("diff", source, "abcdefabcdef").exit_code == 2


def test_all_is_done_anew_where_that_is_asked_for(invoke: Invoke, source: str) -> None:
    result = invoke("fork", source, "--from", "S1")
    assert result.exit_code == 0
    assert f"Nothing of run {source} is taken over: all is done anew." in result.stderr


def test_two_runs_are_shown_side_by_side(
    invoke: Invoke, source: str, script: Script, tmp_path: Path
) -> None:
    script.reply = lambda _: "quite another answer"
    edited = invoke("edit", source).stdout.replace("do S3", "end S3")
    (path := tmp_path / "edited.yaml").write_text(edited, "utf-8")
    name = fork(invoke, source, "--plan", path)["run_id"]
    shown = invoke("diff", source, name).stdout
    assert "S3 prompt\n  - do S3\n  + end S3\n" in shown
    assert f"taken over from {source}" in shown
    assert "-about do S3\n+quite another answer\n" in shown
    calls = next(line for line in shown.splitlines() if line.startswith("calls"))
    assert calls.split() == ["calls", "3", "1"]


def test_the_difference_can_be_read_by_programs(invoke: Invoke, source: str) -> None:
    name = fork(invoke, source, "--from", "S3")["run_id"]
    found = json.loads(invoke("diff", source, name, "--json").stdout)
    assert found["runs"] == [source, name]
    assert found["plan"]["changed"] == []
    assert found["answer"]["is_same"]
    assert found["cost"]["calls"] == [3, 1]
    assert found["metrics"]["critical_steps"] == [3, 1]
    same = invoke("diff", source, source).stdout
    assert same.count("They are the same.") == 2


def test_a_run_that_has_not_ended_can_be_compared(
    invoke: Invoke, source: str, swarm_home: Path
) -> None:
    name = fork(invoke, source, "--from", "S3")["run_id"]
    (swarm_home / "runs" / name / "result.json").unlink()
    shown = invoke("diff", source, name).stdout
    assert "A run that has not ended has none." in shown
    assert "unfinished" in shown
