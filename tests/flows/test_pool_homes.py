"""A part of a run on a worker that shares nothing with the run but its servers, and a person."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from pathlib import Path

import pytest
from own_server import own_server, wait_for
from pool_parts import deploy, parts_of, small_plan
from prefect_swarm.cli.app import app
from prefect_swarm.flows.options import SwarmOptions
from prefect_swarm.flows.python import swarm
from prefect_swarm.plan.task_ir import TaskIR
from prefect_swarm.store.events import PartEvent
from prefect_swarm.store.result import SwarmResult
from prefect_swarm.store.runs import find_run
from provider_runs import serving
from provider_server import Asked, ProviderServer, Reply
from runs_database import runs_in_database
from two_machines import flow_run_of
from typer.testing import CliRunner

pytestmark = pytest.mark.slow

POOL, PLACE = "far-pool", "far"


@pytest.fixture(scope="module")
def provider(
    postgres: str, new_database: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ProviderServer]:
    """The models' server; a worker with a home of its own takes what the pool gets."""
    folder = tmp_path_factory.mktemp("pool-homes")

    def reply(asked: Asked) -> Reply:
        *_, task = re.findall(r"^\w+: (.*)", asked.prompt, re.MULTILINE)
        return Reply(f"Of {task}.")

    with (
        pytest.MonkeyPatch.context() as patch,
        runs_in_database(postgres, patch),
        serving(reply) as provider,
    ):
        patch.setenv("PREFECT_INTEGRATIONS_SWARM_HOME", str(folder / "near"))
        far = {
            "PREFECT_INTEGRATIONS_SWARM_HOME": str(folder / PLACE),
            "PREFECT_LOCAL_STORAGE_PATH": str(folder / PLACE / "results"),
        }
        with own_server(folder / "server", new_database) as server:
            deploy(POOL)
            with server.worker(pool=POOL, **far):
                yield provider


def run(plan: TaskIR, provider: ProviderServer) -> SwarmResult:
    options = SwarmOptions(model=provider.name(), memory=False, approve=("steps",))
    return asyncio.run(swarm(plan.objective, plan=plan, options=options))


def states_told(run_id: str) -> list[str]:
    events = find_run(run_id).events({"part"})
    return [event.state for event in events if isinstance(event, PartEvent)]


def test_a_part_elsewhere_waits_for_a_person_and_goes_on_when_it_is_approved(
    provider: ProviderServer,
) -> None:
    plan = small_plan(POOL, "asking")
    data = plan.model_dump(mode="json", exclude_unset=True)
    data["steps"][1]["plan"]["steps"][1]["approval"] = True
    with ThreadPoolExecutor(1) as thread:
        running = thread.submit(copy_context().run, run, TaskIR.model_validate(data), provider)
        wait_for(lambda: bool(parts_of("asking")), "the part")
        (child,) = parts_of("asking")
        wait_for(lambda: flow_run_of(child.id).state_name == "Suspended", "its question")
        parent = child.parameters["fork"]["run"]
        wait_for(lambda: "Suspended" in states_told(parent), "word of it")
        assert not running.done()
        approved = CliRunner().invoke(app, ["approve", find_run(str(child.id)).run_id])
        assert "A worker resumes it." in approved.output
        result = running.result()
    assert result.status == "completed"
    assert result.answer == "Of last."
    tasks = [asked.prompt.rpartition("asking: ")[2] for asked in provider.asked]
    assert tasks == ["one", "inner one", "inner two", "last"]
