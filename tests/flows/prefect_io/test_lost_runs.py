"""A run that has begun goes on where its folder is; elsewhere it is refused or handed back."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from flow_runs import plan_of
from prefect.client.schemas.objects import FlowRun
from prefect.exceptions import Pause
from prefect.states import AwaitingRetry
from prefect_swarm import SwarmOptions, resume, swarm
from prefect_swarm.errors import InputError, RunLostError, RunNotFoundError
from prefect_swarm.flows.prefect_io.lost import (
    HANDED_BACK,
    MOST_TIMES,
    RunPlace,
    lost_error,
    wait_before,
)
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.store.result import RunFailedError
from pydantic_ai.exceptions import ModelHTTPError
from scripted import Script, scripted
from two_machines import Machines, ask_server, execute, flow_run_of, scheduled

PLAN = plan_of({"id": "S1"}, {"id": "S2", "depends_on": ["S1"]})
OPTIONS: dict[str, Any] = {"memory": False, "max_attempts": 1, "model": "test"}
PARAMETERS: dict[str, Any] = {
    "objective": PLAN.objective,
    "plan": PLAN.model_dump(mode="json"),
    "options": OPTIONS,
}


def _only_s1(prompt: str) -> str | Exception:
    return ModelHTTPError(401, "far") if "do S2" in prompt else "one"


def _asked(script: Script) -> list[str]:
    return [step for prompt in script.prompts for step in ("S1", "S2") if f"do {step}" in prompt]


@pytest.fixture
def machines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machines]:
    found = Machines(tmp_path, monkeypatch)
    yield found
    found.leave()


@pytest.fixture
def half_done(prefect_server: None, machines: Machines) -> FlowRun:
    """A deployment's run of which S1 was done on the machine `oak`, and which is due again."""
    machines.be("oak")
    run = scheduled(PARAMETERS)
    with scripted(Script(_only_s1)):
        execute(run.id)
    # As the automation does that puts a crashed run back.
    state = AwaitingRetry()
    ask_server(lambda client: client.set_flow_run_state(run.id, state, force=True))
    (RunFolder.of(str(run.id)).folder / "result.json").unlink()
    return flow_run_of(run.id)


def test_a_flow_run_says_where_its_runs_folder_is(prefect_server: None, machines: Machines) -> None:
    home = machines.be("oak")
    with scripted(Script()):
        result = asyncio.run(swarm(PLAN.objective, plan=PLAN, options=SwarmOptions(**OPTIONS)))
    labels = flow_run_of(result.flow_run_id).labels
    assert labels["swarm.host"] == "oak"
    assert labels["swarm.folder"] == str(home / "runs" / result.run_id)


def test_it_is_said_before_anything_is_paid_for(prefect_server: None, machines: Machines) -> None:
    machines.be("oak")
    run = scheduled(PARAMETERS)
    hosts: list[object] = []

    def reply(prompt: str) -> str:
        hosts.append(None)
        return prompt

    with scripted(Script(reply)):
        execute(run.id)
    assert hosts
    assert flow_run_of(run.id).labels["swarm.host"] == "oak"


class TestElsewhere:
    def test_it_is_handed_back_for_a_while(self, half_done: FlowRun, machines: Machines) -> None:
        machines.be("elm")
        with scripted(Script()) as script, pytest.raises(Pause):
            execute(half_done.id)
        assert script.prompts == []
        run = flow_run_of(half_done.id)
        assert run.state is not None
        assert run.state.is_scheduled()
        assert run.state.message is not None
        assert "on oak" in run.state.message
        assert run.next_scheduled_start_time is not None
        assert run.next_scheduled_start_time > run.state.timestamp

    def test_the_machine_that_has_it_does_the_rest(
        self, half_done: FlowRun, machines: Machines
    ) -> None:
        machines.be("elm")
        with scripted(Script()), pytest.raises(Pause):
            execute(half_done.id)
        state = AwaitingRetry()
        ask_server(lambda client: client.set_flow_run_state(half_done.id, state, force=True))
        machines.be("oak")
        with scripted(Script()) as script:
            result = execute(half_done.id)
        assert result.status == "completed"
        assert "S1" not in _asked(script)
        assert flow_run_of(half_done.id).labels[HANDED_BACK] == 0

    def test_handed_back_too_often_it_fails(self, half_done: FlowRun, machines: Machines) -> None:
        machines.be("elm")
        labels: dict[str, Any] = {HANDED_BACK: MOST_TIMES}
        ask_server(lambda client: client.update_flow_run_labels(half_done.id, labels))
        with pytest.raises(RunLostError, match="on oak; there is none in"):
            execute(half_done.id)
        state = flow_run_of(half_done.id).state
        assert state is not None
        assert state.is_failed()

    def test_start_over_begins_from_nothing(self, half_done: FlowRun, machines: Machines) -> None:
        home = machines.be("elm")
        with scripted(Script()) as script:
            result = asyncio.run(resume(str(half_done.id), changes={"start_over": True}))
        assert result.status == "completed"
        assert _asked(script)[:1] == ["S1"]
        assert (home / "runs" / result.run_id / "result.json").is_file()
        assert flow_run_of(half_done.id).labels["swarm.host"] == "elm"

    def test_start_over_applies_to_one_start(self, half_done: FlowRun, machines: Machines) -> None:
        machines.be("elm")
        with scripted(Script(_only_s1)):
            asyncio.run(resume(str(half_done.id), changes={"start_over": True}))
        state = AwaitingRetry()
        ask_server(lambda client: client.set_flow_run_state(half_done.id, state, force=True))
        machines.be("ash")
        with scripted(Script()) as script, pytest.raises(Pause):
            execute(half_done.id)
        assert script.prompts == []
        assert "on elm" in str(flow_run_of(half_done.id).state)

    def test_resume_says_where_it_is_and_leaves_it_as_it_was(
        self, half_done: FlowRun, machines: Machines
    ) -> None:
        machines.be("elm")
        with pytest.raises(RunLostError, match="on oak"):
            asyncio.run(resume(str(half_done.id)))
        assert flow_run_of(half_done.id).state == half_done.state

    def test_a_run_of_no_deployment_is_refused(
        self, prefect_server: None, machines: Machines
    ) -> None:
        machines.be("oak")
        refused = Script(lambda _: ModelHTTPError(401, "far"))
        with scripted(refused), pytest.raises(RunFailedError) as caught:
            asyncio.run(swarm(PLAN.objective, plan=PLAN, options=SwarmOptions(**OPTIONS)))
        assert caught.value.result is not None
        machines.be("elm")
        with scripted(Script()) as script, pytest.raises(RunLostError):
            execute(caught.value.result.flow_run_id)
        assert script.prompts == []

    def test_a_run_of_an_earlier_version_is_known_by_its_task_runs(
        self, half_done: FlowRun, machines: Machines
    ) -> None:
        machines.be("elm")
        labels: dict[str, Any] = {"swarm.host": "", "swarm.folder": ""}
        ask_server(lambda client: client.update_flow_run_labels(half_done.id, labels))
        with pytest.raises(Pause) as caught:
            execute(half_done.id)
        assert caught.value.state is not None
        assert "nothing says where" in str(caught.value.state.message)


def test_a_folder_that_was_removed_is_not_looked_for_elsewhere(
    half_done: FlowRun, machines: Machines
) -> None:
    shutil.rmtree(RunFolder.of(str(half_done.id)).folder)
    with pytest.raises(RunLostError, match="is gone"):
        execute(half_done.id)


def test_a_folder_that_machines_share_is_there(half_done: FlowRun, machines: Machines) -> None:
    oak = machines.be("oak")
    elm = machines.be("elm")
    elm.parent.mkdir(exist_ok=True)
    elm.symlink_to(oak)
    with scripted(Script()) as script:
        result = execute(half_done.id)
    assert result.status == "completed"
    assert "S1" not in _asked(script)
    assert flow_run_of(half_done.id).labels["swarm.host"] == "elm"


def test_a_run_that_was_left_before_it_had_a_folder_begins(
    prefect_server: None, machines: Machines
) -> None:
    machines.be("oak")
    run = scheduled({**PARAMETERS, "objective": " "})
    with pytest.raises(InputError, match="The objective is empty"):
        execute(run.id)
    ask_server(lambda client: client.update_flow_run(run.id, parameters=PARAMETERS))
    state = AwaitingRetry()
    ask_server(lambda client: client.set_flow_run_state(run.id, state, force=True))
    machines.be("elm")
    with scripted(Script()):
        assert execute(run.id).status == "completed"


def test_what_is_no_run_is_not_found(prefect_server: None, machines: Machines) -> None:
    machines.be("oak")
    with pytest.raises(RunNotFoundError):
        asyncio.run(resume("00000000-0000-4000-8000-000000000000"))


def test_the_pauses_grow_and_end() -> None:
    pauses = [wait_before(times) for times in range(MOST_TIMES)]
    assert pauses == sorted(pauses)
    assert pauses[0] == 30.0
    assert pauses[-1] == 300.0


@pytest.mark.parametrize(
    ("place", "words"),
    [
        (RunPlace("elm", "/b/runs/r"), "is gone"),
        (RunPlace("elm", "/a/runs/r"), "PREFECT_INTEGRATIONS_SWARM_HOME=/a prefect-swarm resume r"),
        (RunPlace("oak", "/b/runs/r"), "share the data folder"),
        (RunPlace(), "nothing says where"),
    ],
)
def test_the_error_says_where_and_what_to_do(place: RunPlace, words: str) -> None:
    run, here = RunFolder(Path("/b/runs/r")), RunPlace("elm", "/b/runs/r")
    error = lost_error(run, "the-whole-id", place, here)
    assert words in str(error)
    assert "resume the-whole-id --start-over" in str(error)
