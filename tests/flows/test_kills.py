"""Killed while it waits, and in the middle of an edit: no decision is lost, and none invented."""

from __future__ import annotations

import json
import os
import signal
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from flow_runs import plan_of
from held_runs import started as started_script
from prefect_swarm.flows.plan_changes import keep_unchanged
from prefect_swarm.plan.compile import CompiledPlan, compile_plan
from prefect_swarm.store.approvals import Approvals
from prefect_swarm.store.attempt import Attempt
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.store.question import Answer
from prefect_swarm.store.step import StepState
from ready_scripts import ReadyScript

process = partial(started_script, script=Path(__file__).with_name("waiting_run.py"))
SOME_KILLS = pytest.mark.parametrize("kills", [6, pytest.param(30, marks=pytest.mark.exhaustive)])
"""Each moment twice, or more often."""
PLAN: dict[str, Any] = {
    "objective": "Find out",
    "agents": [{"name": "Reader", "system_prompt": "You read closely."}],
    "steps": [
        {"id": "S1", "agent": "Reader", "prompt": "do S1"},
        {"id": "S2", "agent": "Reader", "prompt": "do S2", "depends_on": ["S1"], "approval": True},
    ],
}


def heard(started: ReadyScript, *until: str) -> list[str]:
    """Read what a run prints until one of these lines has come."""
    lines: list[str] = []
    for line in started.stdout:
        lines.append(line.rstrip("\n"))
        if lines[-1].startswith(until):
            return lines
    raise AssertionError(f"it ended before it printed any of {until}: {lines}")


@pytest.mark.slow
@pytest.mark.usefixtures("prefect_server", "swarm_home")
def test_killed_while_it_waits_it_still_waits_or_goes_on_if_it_was_answered(
    tmp_path: Path,
) -> None:
    (plan := tmp_path / "plan.json").write_text(json.dumps(PLAN), "utf-8")
    (calls := tmp_path / "calls").touch()
    with process("start", calls, plan) as started:
        lines = heard(started, "asked")
        run_id = lines[0].split()[1]
    approvals = Approvals(RunFolder.find(run_id))
    assert [question.id for question in approvals.pending()] == ["plan"]
    assert calls.read_text("utf-8") == ""
    approvals.answer(Answer(question="plan", verdict="approved"))
    # It was answered meanwhile: it goes on, to the next question, where it is killed again.
    with process("resume", calls, run_id) as started:
        lines = heard(started, "asked S2")
    assert f"answered {run_id}" in lines
    assert calls.read_text("utf-8") == "do S1\n"
    with process("resume", calls, run_id) as started:
        heard(started, "asked S2")
        # While it lives it hears of the answer by itself.
        approvals.answer(Answer(question="S2", verdict="approved"))
        heard(started, "finished")
        assert started.wait(120) == 0
    assert Counter(line[-5:] for line in calls.read_text("utf-8").split("\n") if line)["do S1"] == 1
    result = RunFolder.find(run_id).result()
    assert result is not None
    assert result.status == "completed"


@pytest.mark.slow
@SOME_KILLS
@pytest.mark.usefixtures("prefect_server", "swarm_home")
def test_kills_while_it_waits_decide_nothing(tmp_path: Path, kills: int) -> None:
    (plan := tmp_path / "plan.json").write_text(json.dumps(PLAN), "utf-8")
    (calls := tmp_path / "calls").touch()
    with process("start", calls, plan) as started:
        run_id = heard(started, "asked")[0].split()[1]
    approvals = Approvals(RunFolder.find(run_id))
    for kill in range(kills):
        with process("resume", calls, run_id) as started:
            # At any moment: after it began, or once it has asked.
            heard(started, "began" if kill % 3 else "asked")
        assert [question.id for question in approvals.pending()] == ["plan"]
        assert approvals.answer_to("plan") is None
        assert calls.read_text("utf-8") == ""


# --- in the middle of an edit -------------------------------------------------------------------

STEPS: tuple[dict[str, Any], ...] = tuple(
    {"id": f"S{n}", "depends_on": [f"S{n - 1}"] if n % 4 != 1 else []} for n in range(1, 41)
)
ATTEMPT = Attempt(number=1, tier="worker", model="m", started_at=0.0, ended_at=1.0)


def finished_run(folder: Path, plan: CompiledPlan) -> RunFolder:
    """A run whose steps have all succeeded by a plan."""
    run = RunFolder(folder)
    run.write("plan.json", plan.to_json())
    for step in plan.steps:
        run.write(f"outputs/{step.id}.txt", f"of {step.id}")
        run.save_step(
            StepState(id=step.id, agent="Reader", status="succeeded", attempts=(ATTEMPT,))
        )
    return run


def killed(run: RunFolder, plan: CompiledPlan, after: int) -> None:
    """Take a plan over in a process that is killed after it has removed so many files."""
    if (child := os.fork()) == 0:
        unlink, count = os.unlink, 0

        def counted(path: Any, **more: Any) -> None:
            nonlocal count
            if count == after:
                os.kill(os.getpid(), signal.SIGKILL)
            count += 1
            unlink(path, **more)

        os.unlink = counted  # type: ignore[assignment]
        keep_unchanged(run, plan)
        run.write("plan.json", plan.to_json())
        os._exit(0)
    os.waitpid(child, 0)


def kept(run: RunFolder) -> Sequence[str]:
    """Steps that a resumed run would take as they are."""
    return [step.id for step in run.steps() if run.read(f"outputs/{step.id}.txt") is not None]


def test_thirty_kills_in_the_middle_of_an_edit_leave_what_an_edit_leaves(tmp_path: Path) -> None:
    before = compile_plan(plan_of(*STEPS))
    changed = [{**step, "prompt": "another"} if step["id"] == "S9" else step for step in STEPS]
    after = compile_plan(plan_of(*changed))
    whole = finished_run(tmp_path / "whole", before)
    keep_unchanged(whole, after)
    # S9 and what needs it are done anew.
    assert set(kept(whole)) == {step["id"] for step in STEPS} - {"S9", "S10", "S11", "S12"}
    for kill in range(30):
        run = finished_run(tmp_path / str(kill), before)
        for time in range(3):
            killed(run, after, (kill + 3 * time) % 10)
        keep_unchanged(run, after)
        assert kept(run) == kept(whole)


@pytest.mark.slow
@SOME_KILLS
@pytest.mark.usefixtures("prefect_server", "swarm_home")
def test_kills_of_a_run_that_is_edited_lose_no_edit_and_repeat_no_step(
    tmp_path: Path, kills: int
) -> None:
    (plan := tmp_path / "plan.json").write_text(json.dumps(PLAN), "utf-8")
    (calls := tmp_path / "calls").touch()
    with process("start", calls, plan) as started:
        run_id = heard(started, "asked")[0].split()[1]
    approvals = Approvals(RunFolder.find(run_id))
    approvals.answer(Answer(question="plan", verdict="approved"))
    with process("resume", calls, run_id) as started:
        heard(started, "asked S2")
    edited = plan_of(
        {"id": "S1"},
        {"id": "S2", "depends_on": ["S1"], "prompt": "do S2 otherwise", "approval": True},
    )
    edit = Answer(
        question=_unasked(approvals),
        subject="edit",
        verdict="edited",
        plan=edited.model_dump(mode="json"),
    )
    approvals.answer(edit)
    for kill in range(kills):
        with process("resume", calls, run_id) as started:
            heard(started, ("began", "planned", "asked S2")[kill % 3])
        assert approvals.edits() == (edit,)
        assert calls.read_text("utf-8") == "do S1\n"
        # Between the old question, which is withdrawn, and the new one nothing is asked.
        assert [q.id for q in approvals.pending()] in (["S2"], [], ["S2#2"])
    with process("resume", calls, run_id) as started:
        heard(started, "asked S2")
        approvals.answer(Answer(question="S2#2", verdict="approved"))
        heard(started, "finished")
    result = RunFolder.find(run_id).result()
    assert result is not None
    assert (result.status, result.plan) == ("completed", edited)
    assert [line[-12:] for line in calls.read_text("utf-8").splitlines()] == [
        "do S1",
        "S2 otherwise",
    ]


def _unasked(approvals: Approvals) -> str:
    from prefect_swarm.store.question import Question

    return approvals.ask(Question(id="plan", asked="plan", subject="edit", title="Edited")).id
