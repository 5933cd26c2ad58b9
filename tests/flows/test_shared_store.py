"""A run that is stored in PostgreSQL goes on from any home that has the server's address."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from flow_runs import plan_of
from prefect.exceptions import Abort
from prefect_swarm.cli.app import app
from prefect_swarm.errors import ExitCode
from prefect_swarm.flows.options import SwarmOptions
from prefect_swarm.flows.python import swarm
from prefect_swarm.models.resolve import override_models
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.store.protocol import RunStore
from prefect_swarm.store.question import RunWaitingError
from prefect_swarm.store.runs import find_run, store_address, stored_runs
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models.function import AgentInfo, FunctionModel
from runs_database import STORE
from scripted import Script, scripted
from two_machines import Machines, flow_run_of
from typer.testing import CliRunner, Result

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("prefect_server", "runs_database")]

PLAN = plan_of({"id": "S1"}, {"id": "S2", "depends_on": ["S1"], "approval": True})


@pytest.fixture
def machines(
    runs_database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Machines]:
    found = Machines(tmp_path, monkeypatch)
    yield found
    found.leave()


def call(*arguments: object, code: int = 0) -> Result:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == code, (result.output, result.exception)
    return result


def waiting_run() -> str:
    """Return a run that waits for a person after its first step."""
    options = SwarmOptions(memory=False, approve=("steps",))
    with pytest.raises(RunWaitingError) as caught:
        asyncio.run(swarm(PLAN.objective, plan=PLAN, options=options))
    return caught.value.run_id


def store_of(name: str) -> RunStore:
    return find_run(name)


def test_a_run_of_one_home_is_seen_answered_and_resumed_in_another(machines: Machines) -> None:
    with scripted(Script()) as script:
        oak = machines.be("oak")
        run_id = waiting_run()
        assert not (oak / "runs").exists()

        machines.be("elm")
        (listed,) = json.loads(call("runs", "--json").stdout)["runs"]
        assert (listed["run_id"], listed["status"], listed["done"]) == (run_id, "waiting", 1)
        assert "S2" in call("waiting", run_id).stdout
        assert "about: do S1" in call("inspect", run_id, "--step", "S1").stdout
        call("approve", run_id)

        machines.be("ash")
        call("resume", run_id)
        assert sum("do S2" not in prompt for prompt in script.prompts) == 1

        machines.be("oak")
        (listed,) = json.loads(call("runs", "--json").stdout)["runs"]
        assert listed["status"] == "completed"
        assert "approved by command" in call("inspect", run_id).stdout
        assert "S2" in call("watch", run_id).output
        assert "<html" in call("report", run_id, "--html", "-").stdout


def test_a_run_of_one_home_is_edited_and_forked_in_another(
    machines: Machines, tmp_path: Path
) -> None:
    with scripted(Script()) as script:
        machines.be("oak")
        run_id = waiting_run()
        machines.be("elm")
        plan: dict[str, Any] = PLAN.model_dump(mode="json", exclude_defaults=True)
        plan["steps"][1]["prompt"] = "do S2 otherwise"
        (path := tmp_path / "plan.json").write_text(json.dumps(plan), "utf-8")
        call("edit", run_id, path)
        call("resume", run_id, code=ExitCode.WAITING)
        call("approve", run_id)
        call("resume", run_id)
        assert any("do S2 otherwise" in prompt for prompt in script.prompts)
        forked = call("fork", run_id, "--from", "S2", "--json", code=ExitCode.WAITING)
        fork = json.loads(forked.stdout)["run_id"]
        machines.be("ash")
        call("approve", fork)
        call("resume", fork)
        assert store_of(fork).output("S1") == store_of(run_id).output("S1")
        assert "S2" in call("diff", run_id, fork).stdout


def test_a_run_that_another_process_takes_over_stops_and_stays_that_ones(
    runs_database: str, machines: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("prefect_swarm.store.lease.HEARTBEAT_S", 0.1)
    machines.be("oak")
    plan = plan_of({"id": "S1"}, {"id": "S2"})
    take = "UPDATE prefect_swarm_runs.runs SET token = token + 1, owner = 'elm process 1 x'"

    async def work() -> None:
        asked = asyncio.Event()

        async def never(_messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
            asked.set()
            return await asyncio.Future[ModelResponse]()

        with override_models(worker=FunctionModel(never), orchestrator=FunctionModel(never)):
            options = SwarmOptions(memory=False)
            going = asyncio.create_task(swarm(plan.objective, plan=plan, options=options))
            await asked.wait()
            with psycopg.connect(runs_database, autocommit=True) as elm:
                elm.execute(take.encode())
            with pytest.raises(Abort, match="was taken over by elm process 1"):
                await going

    asyncio.run(work())
    (run,) = stored_runs()
    assert not run.has_result()
    assert run.steps() == ()
    assert flow_run_of(run.about().flow_run_id).state_name == "Running"


def test_a_run_is_brought_to_the_store_and_back(
    runs_database: str, machines: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    with scripted(Script()) as script:
        oak = machines.be("oak")
        with monkeypatch.context() as patched:
            patched.delenv(STORE)
            store_address.cache_clear()
            run_id = waiting_run()
            files = RunFolder(oak / "runs" / run_id)
            before = {name: files.read_bytes(name) for name in files.names_below()}
        store_address.cache_clear()
        assert run_id in call("resume", run_id, code=ExitCode.USAGE).output
        call("runs", "--move", run_id)
        assert not files.folder.exists()

        machines.be("elm")
        call("approve", run_id)
        call("runs", "--move", run_id, "--to", "folder")
        assert json.loads(call("runs", "--json").stdout)["runs"] == []
        moved = RunFolder.find(run_id)
        names = [name for name in before if name != "lock"]
        assert {name: moved.read_bytes(name) for name in names if not name.endswith("l")} == {
            name: before[name] for name in names if not name.endswith("l")
        }
        assert [event.number for event in moved.events()] == [*range(1, len([*moved.events()]) + 1)]
        call("runs", "--move", run_id)
        call("resume", run_id)
        assert sum("do S2" not in prompt for prompt in script.prompts) == 1
