"""Workers on two machines of one pool: the one without a run's folder gives the run back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from deployments import deploy_all, run_worker, start_deployment
from flow_runs import plan_of
from prefect.states import AwaitingRetry
from prefect_swarm.store.folder import RunFolder
from pydantic_ai.exceptions import ModelHTTPError
from scripted import Script, scripted
from two_machines import Machines, ask_server, execute, flow_run_of

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("prefect_server")]

PLAN = plan_of({"id": "S1"}, {"id": "S2", "depends_on": ["S1"]})


def _only_s1(prompt: str) -> str | Exception:
    return ModelHTTPError(401, "far") if "do S2" in prompt else "written on oak"


@pytest.fixture
def machines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machines]:
    found = Machines(tmp_path, monkeypatch)
    yield found
    found.leave()


def test_a_worker_without_the_folder_hands_the_run_back(machines: Machines) -> None:
    deploy_all()
    machines.be("oak")
    options = {"memory": False, "max_attempts": 1, "model": "test"}
    parameters = {"objective": PLAN.objective, "plan": PLAN.model_dump(mode="json")}
    run = start_deployment("swarm/swarm", {**parameters, "options": options})
    with scripted(Script(_only_s1)):
        execute(run)
    (RunFolder.of(str(run)).folder / "result.json").unlink()

    def put_back() -> None:
        # As the automation does that puts a crashed run back.
        state = AwaitingRetry()
        ask_server(lambda client: client.set_flow_run_state(run, state, force=True))

    put_back()
    machines.be("elm")
    run_worker()
    found = flow_run_of(run)
    assert found.state is not None
    assert found.state.name == "AwaitingRetry", found.state
    assert "on oak" in str(found.state.message)
    assert not RunFolder.of(str(run)).folder.exists()

    put_back()
    machines.be("oak")
    run_worker()
    assert flow_run_of(run).state_name == "Completed"
    result = RunFolder.of(str(run)).result()
    assert result is not None
    assert [step.status for step in result.steps] == ["succeeded", "succeeded"]
    assert RunFolder.of(str(run)).read("outputs/S1.txt") == "written on oak"
