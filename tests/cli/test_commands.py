"""`run --approve`, `waiting`, `approve`, `reject` and `edit` on a real Prefect server."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest
import yaml
from prefect_swarm.flows import approval as asking
from prefect_swarm.store.approvals import Approvals
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.store.result import SwarmResult
from scripted import Script, scripted
from typer.testing import Result

pytestmark = pytest.mark.usefixtures("prefect_server")
Invoke = Callable[..., Result]

PLAN: dict[str, Any] = {
    "objective": "Find out",
    "agents": [{"name": "Reader", "system_prompt": "You read closely."}],
    "steps": [
        {"id": "S1", "agent": "Reader", "prompt": "do S1"},
        {"id": "S2", "agent": "Reader", "prompt": "do S2", "depends_on": ["S1"], "approval": True},
    ],
}


@pytest.fixture(autouse=True)
def script(monkeypatch: pytest.MonkeyPatch) -> Generator[Script]:
    monkeypatch.setattr(asking, "LOOK_S", 0.02)
    with scripted(Script(reply=lambda prompt: f"about {prompt[-5:]}")) as made:
        yield made


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(PLAN), "utf-8")
    return path


def begun(invoke: Invoke, plan: Path, *approve: str) -> str:
    """Start a run that is left waiting, and return its id."""
    options = [word for each in approve for word in ("--approve", each)]
    result = invoke("run", "--plan", plan, "--no-memory", "--json", *options)
    assert result.exit_code == 4, result.stderr
    return json.loads(result.stdout)["run_id"]


def test_without_a_terminal_the_run_is_left_and_says_how_to_go_on(
    invoke: Invoke, plan: Path, script: Script
) -> None:
    result = invoke("run", "--plan", plan, "--no-memory", "--approve", "plan")
    assert result.exit_code == 4
    *_, problem, look, go_on, reject, edit = result.stderr.splitlines()
    run_id = problem.split()[1]
    assert problem == f"Run {run_id} waits for approval of the plan."
    assert look == f"  Look: prefect-swarm waiting {run_id}"
    assert go_on == f"  Continue: prefect-swarm approve {run_id} --resume"
    assert reject == f"  Or: prefect-swarm reject {run_id} --why TEXT --resume"
    assert edit == f"  Or: prefect-swarm edit {run_id} PLAN.yaml --resume"
    assert script.prompts == []


def test_what_waits_can_be_read_by_programs(invoke: Invoke, plan: Path) -> None:
    result = invoke("run", "--plan", plan, "--no-memory", "--json", "--approve", "plan")
    printed = json.loads(result.stdout)
    assert (printed["status"], printed["kind"]) == ("waiting", "RunWaitingError")
    assert [question["id"] for question in printed["questions"]] == ["plan"]
    listed = json.loads(invoke("waiting", "--json").stdout)["waiting"]
    assert [(w["run_id"], w["id"], w["running"]) for w in listed] == [
        (printed["run_id"], "plan", False)
    ]
    runs = json.loads(invoke("runs", "--status", "waiting", "--json").stdout)["runs"]
    assert [run["run_id"] for run in runs] == [printed["run_id"]]
    left = json.loads(invoke("inspect", printed["run_id"], "--json").stdout)
    assert [(q["id"], q["answer"]) for q in left["questions"]] == [("plan", None)]


def test_approved_and_resumed_it_goes_on_to_its_end(invoke: Invoke, plan: Path) -> None:
    run_id = begun(invoke, plan, "plan")
    approved = invoke("approve", run_id, "--resume")
    assert approved.exit_code == 0, approved.stderr
    assert f"plan of run {run_id} is approved." in approved.stdout
    assert f"Run {run_id} is completed." in approved.stdout
    shown = invoke("inspect", run_id).stdout
    assert "plan: The plan of 2 steps: Find out" in shown
    assert "approved by command" in shown
    assert invoke("waiting").stdout == "Nothing waits for a person.\n"
    again = invoke("approve", run_id, "plan").stdout
    assert again.endswith(f"The run is over: prefect-swarm inspect {run_id}\n")


def test_a_resumed_run_that_nobody_has_answered_leaves_again(invoke: Invoke, plan: Path) -> None:
    run_id = begun(invoke, plan, "plan")
    again = invoke("resume", run_id)
    assert again.exit_code == 4
    assert "waits for approval of the plan" in again.stderr


def test_two_things_are_asked_one_after_the_other(
    invoke: Invoke, plan: Path, script: Script
) -> None:
    run_id = begun(invoke, plan, "plan", "steps")
    result = invoke("approve", run_id, "--resume")
    assert result.exit_code == 4
    assert f"Run {run_id} waits for approval of S2." in result.stderr
    assert len(script.prompts) == 1
    assert invoke("approve", run_id, "s2", "--resume").exit_code == 0


def test_a_rejected_step_fails_the_run_partly(invoke: Invoke, plan: Path) -> None:
    run_id = begun(invoke, plan, "steps")
    result = invoke("reject", run_id, "S2", "--why", "no need", "--resume")
    assert result.exit_code == 3
    assert "A person rejected it: no need." in result.stdout
    step = invoke("inspect", run_id, "--step", "S2").stdout
    assert "rejected by command" in step
    assert "no need" in step


def test_a_rejected_plan_fails_the_run(invoke: Invoke, plan: Path, script: Script) -> None:
    run_id = begun(invoke, plan, "plan")
    result = invoke("reject", run_id, "--why", "too dear", "--resume")
    assert result.exit_code == 1
    assert "The plan was rejected: too dear." in result.stderr
    assert script.prompts == []


def test_the_first_answer_stays_and_the_second_hears_of_it(invoke: Invoke, plan: Path) -> None:
    run_id = begun(invoke, plan, "plan")
    assert invoke("approve", run_id).exit_code == 0
    assert invoke("approve", run_id).exit_code == 0
    late = invoke("reject", run_id, "--why", "no")
    assert late.exit_code == 2
    assert f"plan of run {run_id} is approved already, by command" in late.stderr


def test_without_resume_it_says_who_goes_on(invoke: Invoke, plan: Path) -> None:
    run_id = begun(invoke, plan, "plan")
    with RunFolder.find(run_id).exclusive():
        alive = invoke("approve", run_id, "--resume")
    assert alive.stdout == f"plan of run {run_id} is approved. Its process goes on by itself.\n"
    left = invoke("approve", run_id)
    assert left.stdout.endswith(f"Resume with: prefect-swarm resume {run_id}\n")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [(("S7",), "asks nothing about 'S7'"), (("plan",), "asks nothing about 'plan'")],
)
def test_what_is_not_asked_is_named(
    invoke: Invoke, plan: Path, arguments: tuple[str, ...], problem: str
) -> None:
    run_id = begun(invoke, plan, "steps")
    result = invoke("approve", run_id, *arguments)
    assert result.exit_code == 2
    assert problem in result.stderr
    assert "It waits for S2." in result.stderr


def test_waiting_shows_all_that_is_asked_of_a_run(invoke: Invoke, plan: Path) -> None:
    run_id = begun(invoke, plan, "steps")
    shown = invoke("waiting", run_id).stdout
    assert "S2: S2 Reader, before it begins" in shown
    assert "do S2" in shown
    assert f"prefect-swarm approve {run_id} S2 --resume" in shown
    listed = invoke("waiting").stdout
    assert run_id in listed
    assert "S2 Reader, before it begins" in listed


# --- editing ------------------------------------------------------------------------------------


def edited(invoke: Invoke, run_id: str, folder: Path, **changes: str) -> Path:
    """Write the plan that a run has, with other prompts for some steps."""
    data = yaml.safe_load(invoke("edit", run_id).stdout)
    for step in data["steps"]:
        step["prompt"] = changes.get(step["id"], step["prompt"])
    path = folder / "edited.yaml"
    path.write_text(yaml.safe_dump(data), "utf-8")
    return path


def test_an_edited_plan_is_run_in_place_of_the_first(
    invoke: Invoke, plan: Path, tmp_path: Path, script: Script
) -> None:
    run_id = begun(invoke, plan, "plan")
    path = edited(invoke, run_id, tmp_path, S1="do it otherwise")
    result = invoke("edit", run_id, path, "--resume")
    assert result.exit_code == 0, result.stderr
    assert "do it otherwise" in script.prompts[0]


def test_a_run_whose_plan_was_rejected_may_get_another(
    invoke: Invoke, plan: Path, tmp_path: Path, script: Script
) -> None:
    run_id = begun(invoke, plan, "plan")
    assert invoke("reject", run_id, "--resume").exit_code == 1
    path = edited(invoke, run_id, tmp_path, S1="do it otherwise")
    assert invoke("edit", run_id, path, "--resume").exit_code == 0
    assert "do it otherwise" in script.prompts[0]


def test_in_its_middle_finished_steps_that_stay_as_they_were_are_kept(
    invoke: Invoke, plan: Path, tmp_path: Path, script: Script
) -> None:
    run_id = begun(invoke, plan, "steps")
    path = edited(invoke, run_id, tmp_path, S2="do S2 otherwise")
    result = invoke("edit", run_id, path, "--resume")
    # S2 is another step now, so the question about the old one is taken back and asked anew.
    assert result.exit_code == 4
    assert "waits for approval of S2#2." in result.stderr
    assert invoke("approve", run_id, "--resume").exit_code == 0
    assert [prompt[-12:] for prompt in script.prompts] == ["do S1", "S2 otherwise"]
    assert "taken back" in invoke("inspect", run_id).stdout


def test_in_its_middle_finished_steps_that_were_changed_are_done_anew(
    invoke: Invoke, plan: Path, tmp_path: Path, script: Script
) -> None:
    run_id = begun(invoke, plan, "steps")
    path = edited(invoke, run_id, tmp_path, S1="do S1 otherwise")
    assert invoke("edit", run_id, path).exit_code == 0
    assert invoke("resume", run_id).exit_code == 4
    assert [prompt[-12:] for prompt in script.prompts] == ["do S1", "S1 otherwise"]
    assert [q.id for q in Approvals(RunFolder.find(run_id)).pending()] == ["S2#2"]


def test_a_plan_can_be_edited_again_and_again(
    invoke: Invoke, plan: Path, tmp_path: Path, script: Script
) -> None:
    run_id = begun(invoke, plan, "plan")
    for number in range(12):
        path = edited(invoke, run_id, tmp_path, S1=f"do it {number}")
        assert invoke("edit", run_id, path).exit_code == 0
    result = invoke("resume", run_id, "--json")
    assert result.exit_code == 0, result.stderr
    assert "do it 11" in script.prompts[0]
    assert SwarmResult.model_validate_json(result.stdout).plan.steps[0].prompt == "do it 11"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("steps: [", "no YAML"),
        ("a text", "a plan is a mapping"),
        ("objective: Something else", "line 1: the objective has to stay 'Find out'"),
        ("agents: []\nsteps: []\n", "line 2: steps: "),
    ],
)
def test_a_plan_that_is_none_is_refused_with_its_line(
    invoke: Invoke, plan: Path, tmp_path: Path, text: str, problem: str
) -> None:
    run_id = begun(invoke, plan, "plan")
    (path := tmp_path / "wrong.yaml").write_text(text, "utf-8")
    result = invoke("edit", run_id, path)
    assert result.exit_code == 2
    assert problem in result.stderr
    assert [q.id for q in Approvals(RunFolder.find(run_id)).pending()] == ["plan"]


def test_a_run_that_is_over_has_no_plan_to_edit(invoke: Invoke, plan: Path, tmp_path: Path) -> None:
    run = SwarmResult.model_validate_json(
        invoke("run", "--plan", plan, "--no-memory", "--json").stdout
    )
    path = edited(invoke, run.run_id, tmp_path, S1="do it otherwise")
    result = invoke("edit", run.run_id, path)
    assert result.exit_code == 2
    assert "is completed: its plan can't be changed any more" in result.stderr
