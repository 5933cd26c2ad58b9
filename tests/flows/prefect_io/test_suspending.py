"""A deployed run that waits: suspended without a process, and resumed by a worker."""

from __future__ import annotations

import asyncio
from logging import INFO
from typing import Any
from uuid import UUID

import pytest
from deployments import deploy_all, run_worker, start_deployment
from flow_runs import plan_of
from person_forms import folder_of, form_part, refusal, shown_state, submit
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import LogFilter, LogFilterFlowRunId
from prefect.client.schemas.objects import Log, State
from prefect_swarm.cli.app import app
from prefect_swarm.store.approvals import Approvals
from prefect_swarm.store.folder import RunFolder
from typer.testing import CliRunner, Result

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("prefect_server", "swarm_home")]

PLAN = plan_of({"id": "S1"}, {"id": "S2", "depends_on": ["S1"]})


@pytest.fixture(scope="module", autouse=True)
def deploy(prefect_server: None) -> None:
    deploy_all()


def state_of(flow_run_id: UUID) -> State[Any]:
    async def read() -> State[Any] | None:
        async with get_client() as client:
            return (await client.read_flow_run(flow_run_id)).state

    state = asyncio.run(read())
    assert state is not None
    return state


def suspended_run() -> tuple[UUID, State[Any]]:
    """Have a worker run a deployment until it waits, and return its flow run and state."""
    options = {"approve": ["plan"], "memory": False, "model": "test"}
    plan = PLAN.model_dump(mode="json")
    parameters = {"objective": PLAN.objective, "plan": plan, "options": options}
    flow_run_id = start_deployment("swarm/swarm", parameters)
    run_worker()
    return flow_run_id, state_of(flow_run_id)


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


def answer_in(run: RunFolder) -> tuple[str, str] | None:
    answer = Approvals(run).answer_to("plan")
    return None if answer is None else (answer.verdict, answer.by)


def test_it_is_suspended_and_goes_on_once_the_form_approves() -> None:
    flow_run_id, first = suspended_run()
    run = folder_of(flow_run_id)
    assert (first.name, first.state_details.pause_timeout) == ("Suspended", None)
    assert answer_in(run) is None
    assert "do S2" in asyncio.run(form_part(first, flow_run_id, "description"))

    # What decides nothing is refused, and starts nothing.
    assert "required" in asyncio.run(refusal(flow_run_id, name="Ann", why=""))
    assert state_of(flow_run_id).id == first.id

    # A plan that is none has a worker ask again.
    asyncio.run(submit(flow_run_id, decision_plan="edit", plan="steps: ["))
    run_worker()
    second = asyncio.run(shown_state(flow_run_id, but=str(first.state_details.pause_key)))
    assert second.name == "Suspended"
    assert answer_in(run) is None
    assert "no YAML" in asyncio.run(form_part(second, flow_run_id, "description"))
    assert run.finished_steps() == ()

    asyncio.run(submit(flow_run_id, decision_plan="approve"))
    assert state_of(flow_run_id).name == "Resuming"
    run_worker()
    assert state_of(flow_run_id).name == "Completed"
    assert answer_in(run) == ("approved", "form")
    assert run.finished_steps() == ("S1", "S2")


def test_the_log_of_a_run_that_waits_has_no_error_and_names_what_works() -> None:
    flow_run_id, _ = suspended_run()
    logs = asyncio.run(logs_until(flow_run_id, "Finished in state Suspended"))
    assert [log.message for log in logs if log.level > INFO] == []
    ways = [log.message for log in logs if "prefect-swarm approve" in log.message]
    assert len(ways) == 3
    assert not [words for words in ways if "--resume" in words]


async def logs_until(flow_run_id: UUID, words: str) -> list[Log]:
    """The lines of a flow run on the server, once one of them begins so."""
    wanted = LogFilter(flow_run_id=LogFilterFlowRunId(any_=[flow_run_id]))
    async with get_client() as client:
        while True:
            logs = await client.read_logs(wanted)
            if any(log.message.startswith(words) for log in logs):
                return logs
            await asyncio.sleep(0.05)


def test_a_command_that_approves_has_a_worker_go_on() -> None:
    flow_run_id, first = suspended_run()
    assert first.name == "Suspended"
    run = folder_of(flow_run_id)
    assert "--resume" not in str(first.message)
    shown = invoke("waiting", run.run_id).stdout
    assert f"prefect-swarm approve {run.run_id} plan\n" in shown
    done = invoke("approve", run.run_id)
    expected = f"plan of run {run.run_id} is approved. A worker resumes it.\n"
    assert done.stdout == expected, done.stderr
    again = invoke("approve", run.run_id)
    assert again.stdout == expected
    run_worker()
    assert state_of(flow_run_id).name == "Completed"
    assert answer_in(run) == ("approved", "command")


def test_a_command_may_go_on_with_it_in_its_own_process() -> None:
    flow_run_id, _ = suspended_run()
    run = folder_of(flow_run_id)
    waiting = invoke("resume", run.run_id)
    assert waiting.exit_code == 4, waiting.stderr
    assert state_of(flow_run_id).name == "Suspended"
    done = invoke("approve", run.run_id, "--resume")
    assert done.exit_code == 0, done.stderr
    assert state_of(flow_run_id).name == "Completed"
