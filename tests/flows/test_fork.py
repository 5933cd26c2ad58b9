"""Forks on a real Prefect server, with a model that counts what it is asked."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from flow_runs import UNEVEN, pages, plan_of, run, steps_of
from held_runs import heard, held_run, started
from prefect.client.orchestration import get_client
from prefect_swarm import fork, resume
from prefect_swarm.errors import InputError, RunNotFoundError
from prefect_swarm.flows.fork import ForkSource
from prefect_swarm.flows.options import SwarmOptions
from prefect_swarm.flows.plan_changes import keep_unchanged, read_compiled
from prefect_swarm.flows.resume import prepare_fork
from prefect_swarm.flows.stored_plan import paid_again
from prefect_swarm.flows.swarm import swarm
from prefect_swarm.plan.task_ir import TaskIR
from prefect_swarm.store.approvals import Approvals
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.store.question import Answer, Question
from prefect_swarm.store.result import SwarmResult
from scripted import Script, scripted

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home")
PLAN = plan_of(*UNEVEN)


@pytest.fixture
def script() -> Generator[Script]:
    with scripted(Script(reply=lambda prompt: f"about {prompt[-5:]}")) as made:
        yield made


@pytest.fixture
def source(script: Script) -> SwarmResult:
    done = run(PLAN, memory=False)
    script.prompts.clear()
    return done


def forked(name: str, **asked: Any) -> SwarmResult:
    return asyncio.run(fork(name, **asked))


def changed(step: str, **change: Any) -> TaskIR:
    return plan_of(*({**s, **change} if s["id"] == step else s for s in UNEVEN))


def asked(script: Script) -> list[str]:
    return sorted(prompt[-5:] for prompt in script.prompts)


def test_a_fork_asks_only_what_is_done_anew(source: SwarmResult, script: Script) -> None:
    result = forked(source.run_id, again=["S3"])
    assert asked(script) == ["do S3", "do S4"]
    assert (result.status, result.answer) == ("completed", "about do S4")
    assert result.run_id != source.run_id
    assert (result.planning.source, result.planning.forked_from) == ("fork", source.run_id)


def test_the_result_says_whose_steps_they_are_and_counts_only_its_own(
    source: SwarmResult,
) -> None:
    result = forked(source.run_id, again=["S3"])
    steps = steps_of(result)
    taken = steps["S1"].taken_from
    assert (taken.run, taken.output_ref) == (source.run_id, f"{source.run_id}/outputs/S1.txt")
    assert (steps["S1"].status, steps["S1"].attempts) == ("succeeded", ())
    assert steps["S1"].output_ref == f"{result.run_id}/outputs/S1.txt"
    assert steps["S3"].taken_from is None
    assert (source.cost.calls, result.cost.calls) == (4, 2)
    assert result.cost.tokens == sum(a.usage.tokens for s in result.steps for a in s.attempts)
    assert (source.metrics.critical_steps, result.metrics.critical_steps) == (3, 2)
    assert (steps["S1"].slack_s, steps["S1"].critical) == (None, False)


def test_what_is_done_anew_reads_what_was_taken_over(source: SwarmResult, script: Script) -> None:
    forked(source.run_id, again=["S3"])
    assert "about do S1" in next(p for p in script.prompts if p.endswith("do S3"))


def test_an_edited_plan_decides_what_is_taken_over(source: SwarmResult, script: Script) -> None:
    result = forked(source.run_id, plan=changed("S2", prompt="look S2"))
    assert asked(script) == ["do S4", "ok S2"]
    assert [step.id for step in result.steps if step.taken_from] == ["S1", "S3"]
    assert result.planning.choice == "edited by a person"


def test_another_model_does_only_what_is_left(source: SwarmResult, script: Script) -> None:
    other = Script(reply=lambda prompt: f"another {prompt[-5:]}")
    with scripted(other):
        result = forked(source.run_id, again=["S4"])
    assert (script.prompts, asked(other)) == ([], ["do S4"])
    assert result.answer == "another do S4"


def test_options_are_those_of_the_source_with_changes(source: SwarmResult) -> None:
    options = prepare_fork(source.run_id, None, ["S4"], {"seed": 7}).options
    assert (options.seed, options.memory) == (7, False)
    with pytest.raises(InputError, match="max_steps got 0"):
        prepare_fork(source.run_id, None, ["S4"], {"max_steps": 0})
    with pytest.raises(InputError, match="4 steps are more than the limit of 2"):
        prepare_fork(source.run_id, None, ["S4"], {"max_steps": 2})


def test_the_source_may_be_removed_afterwards(source: SwarmResult, script: Script) -> None:
    result = forked(source.run_id, again=["S4"])
    shutil.rmtree(RunFolder.find(source.run_id).folder)
    assert RunFolder.find(result.run_id).read("outputs/S1.txt") == "about do S1"
    script.prompts.clear()
    # A fork of the fork names who did it, and needs nothing of the run that is gone.
    second = forked(result.run_id, again=["S4"])
    assert steps_of(second)["S1"].taken_from.run == source.run_id
    assert asked(script) == ["do S4"]


def test_an_output_is_shared_and_not_copied(source: SwarmResult) -> None:
    result = forked(source.run_id, again=["S4"])
    paths = [
        RunFolder.find(name).folder / "outputs/S1.txt" for name in (source.run_id, result.run_id)
    ]
    assert os.path.samefile(*paths)


def test_where_files_cannot_be_linked_they_are_copied(
    source: SwarmResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError("no links here")

    monkeypatch.setattr("prefect_swarm.untrusted.folder.os.link", refuse)
    result = forked(source.run_id, again=["S4"])
    assert RunFolder.find(result.run_id).read("outputs/S1.txt") == "about do S1"
    assert result.status == "completed"


def test_inputs_stay_and_are_not_sent_as_parameters(script: Script) -> None:
    steps = ({"id": "S1", "inputs": ["notes"]}, {"id": "S2", "depends_on": ["S1"]})
    name = run(plan_of(*steps, inputs={"notes": "a long text"}), memory=False).run_id
    script.prompts.clear()
    edited = plan_of(steps[0], {**steps[1], "inputs": ["more"]}, inputs={"notes": "", "more": "x"})
    edited = edited.model_copy(update={"inputs": {"more": "x"}})
    prepared = prepare_fork(name, edited)
    assert prepared.changed is not None
    assert prepared.changed.inputs == {"more": "x"}
    result = forked(name, plan=edited)
    assert result.plan.inputs == {"notes": "a long text", "more": "x"}
    assert [step.id for step in result.steps if step.taken_from] == ["S1"]


def test_a_run_that_still_goes_on_can_be_forked(source: SwarmResult, script: Script) -> None:
    with RunFolder.find(source.run_id).exclusive():
        result = asyncio.run(_in_a_context_of_its_own(source.run_id))
    assert result.status == "completed"
    assert asked(script) == ["do S4"]


async def _in_a_context_of_its_own(name: str) -> SwarmResult:
    return await fork(name, again=["S4"])


def test_a_partial_run_is_forked_with_what_it_has(script: Script) -> None:
    script.reply = lambda prompt: ValueError("no") if prompt.endswith("do S2") else "fine"
    name = run(PLAN, memory=False, max_attempts=1).run_id
    script.reply = lambda _: "fine"
    script.prompts.clear()
    result = forked(name)
    assert (result.status, asked(script)) == ("completed", ["do S2", "do S4"])


def test_an_edit_that_waits_does_not_count_as_what_was_done(source: SwarmResult) -> None:
    run_folder = RunFolder.find(source.run_id)
    (run_folder.folder / "result.json").unlink()
    edited = {**changed("S1", prompt="look S1").model_dump(mode="json", exclude={"inputs"})}
    approvals = Approvals(run_folder)
    approvals.ask(Question(id="plan", asked="plan", subject="x", title="An edit", at=1.0))
    approvals.answer(Answer(question="plan", verdict="edited", plan=edited))
    assert prepare_fork(source.run_id, None, ["S4"]).taken == ("S1", "S2", "S3")
    assert prepare_fork(source.run_id, None, ["S4"]).plan == PLAN


def test_the_pages_say_what_was_taken_over(source: SwarmResult) -> None:
    result = forked(source.run_id, again=["S4"])
    shown = pages(result.flow_run_id)
    assert f"Taken over: S1, S2, S3 from run {source.run_id}." in shown["swarm-timeline"]
    assert f"taken over from run {source.run_id}" in shown["swarm-plan"]
    assert "did not run" not in shown["swarm-timeline"]


def test_the_memory_learns_from_a_step_once(script: Script) -> None:
    name = run(PLAN).run_id
    result = forked(name, again=["S4"])
    assert result.recall is not None
    assert result.recall.episodes == 4
    again = run(plan_of({"id": "S1"}, {"id": "S2"}))
    assert again.recall is not None
    assert again.recall.episodes == 5


# --- killed, and resumed --------------------------------------------------------------------------


@pytest.mark.slow
def test_a_fork_that_is_killed_in_its_middle_is_resumed_and_asks_nothing_twice(
    tmp_path: Path,
) -> None:
    steps = ({**step, "prompt": f"do: {step['id']}"} for step in UNEVEN)
    plan = plan_of(*steps).model_copy(update={"objective": held_run.OBJECTIVE})
    calls = tmp_path / "calls"
    name = asyncio.run(held_run.run(plan, calls, ())).run_id
    calls.write_text("", "utf-8")
    with started(f"fork:{name}:S3", calls, "S4") as process:
        forked_name = heard(process, "succeeded S3", "called S4")
    assert calls.read_text("utf-8").splitlines() == ["S3", "S4"]
    # The source isn't needed any more.
    shutil.rmtree(RunFolder.find(name).folder)
    result = asyncio.run(held_run.go_on(forked_name, calls))
    assert calls.read_text("utf-8").splitlines() == ["S3", "S4", "S4"]
    assert result.status == "completed"
    assert [step.id for step in result.steps if step.taken_from] == ["S1", "S2"]


@pytest.mark.parametrize("moment", range(8))
def test_a_fork_that_is_killed_while_it_begins_is_begun_again(
    source: SwarmResult, script: Script, moment: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = iter(range(moment))
    write = RunFolder.write

    def killed(self: RunFolder, name: str, content: Any) -> str:
        if next(left, None) is None:
            raise KeyboardInterrupt
        return write(self, name, content)

    with monkeypatch.context() as patched:
        patched.setattr(RunFolder, "write", killed)
        with pytest.raises(KeyboardInterrupt):
            forked(source.run_id, again=["S4"])
    (folder,) = (
        f for f in RunFolder.find(source.run_id).folder.parent.iterdir() if f.name != source.run_id
    )
    assert script.prompts == []
    result = asyncio.run(resume(_flow_run_of(folder.name)))
    assert asked(script) == ["do S4"]
    assert (result.status, len([s for s in result.steps if s.taken_from])) == ("completed", 3)


def _flow_run_of(name: str) -> str:
    async def find() -> str:
        async with get_client() as client:
            ids = [str(flow_run.id) for flow_run in await client.read_flow_runs()]
            return next(id_ for id_ in ids if id_.replace("-", "").startswith(name))

    return asyncio.run(find())


def test_an_output_that_went_away_is_fetched_from_the_run_that_made_it(
    source: SwarmResult, script: Script
) -> None:
    result = forked(source.run_id, again=["S4"])
    fork_run = RunFolder.find(result.run_id)
    for name in ("result.json", "outputs/S1.txt", "outputs/S4.txt", "steps/S4.json"):
        (fork_run.folder / name).unlink()
    script.prompts.clear()
    assert asyncio.run(resume(result.run_id)).status == "completed"
    assert script.prompts == []
    assert fork_run.read("outputs/S1.txt") == "about do S1"


def test_what_is_gone_in_both_runs_is_named_before_it_is_done_anew(source: SwarmResult) -> None:
    result = forked(source.run_id, again=["S4"])
    fork_run = RunFolder.find(result.run_id)
    (fork_run.folder / "result.json").unlink()
    (fork_run.folder / "outputs/S1.txt").unlink()
    shutil.rmtree(RunFolder.find(source.run_id).folder)
    assert asyncio.run(paid_again(fork_run)) == ("S1",)


def test_an_edit_of_a_fork_keeps_what_it_took_over(source: SwarmResult) -> None:
    fork_run = RunFolder.find(forked(source.run_id, again=["S4"]).run_id)
    compiled = read_compiled(fork_run.read_json("plan.json"))
    assert compiled is not None
    keep_unchanged(fork_run, compiled)
    assert fork_run.finished_steps() == ("S1", "S2", "S3", "S4")


# --- what is refused ------------------------------------------------------------------------------


def test_a_run_that_is_not_there_is_refused() -> None:
    with pytest.raises(RunNotFoundError):
        forked("abcdefabcdef")


def test_a_run_without_a_plan_is_refused(swarm_home: Path) -> None:
    RunFolder(swarm_home / "runs/abcdefabcdef").write("run.json", {"flow_run_id": "abcdefabcdef"})
    with pytest.raises(InputError, match="has no plan yet"):
        forked("abcdefabcdef")


def test_another_objective_is_refused(source: SwarmResult) -> None:
    plan = PLAN.model_copy(update={"objective": "Something else"})
    with pytest.raises(InputError, match="not the plan's"):
        forked(source.run_id, plan=plan)


def test_what_would_do_nothing_begins_no_run(source: SwarmResult, swarm_home: Path) -> None:
    with pytest.raises(InputError, match="would do nothing"):
        forked(source.run_id)
    assert [run.name for run in (swarm_home / "runs").iterdir()] == [source.run_id]


def test_the_flow_itself_takes_no_other_inputs(source: SwarmResult) -> None:
    with pytest.raises(InputError, match="was given the input 'notes'"):
        asyncio.run(
            swarm(
                "Find out",
                inputs={"notes": "a text"},
                options=SwarmOptions(memory=False),
                fork=ForkSource(run=source.run_id, again=("S4",)),
            )
        )
