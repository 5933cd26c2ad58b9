"""Limits of Prefect's hold for swarms: of a deployment, and of a tag."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from deployments import prefect_command, start_deployment
from flow_runs import plan_of
from own_server import OwnServer, own_server, wait_for
from prefect import tags
from prefect.client.orchestration import PrefectClient
from prefect_swarm import SwarmOptions, swarm
from prefect_swarm.cli.app import app
from provider_runs import serving
from provider_server import Asked, ProviderServer, Reply
from scripted import Script, scripted
from two_machines import ask_server, flow_run_of
from typer.testing import CliRunner

PLAN = plan_of({"id": "S1"}, objective="Find out").model_dump(mode="json")

pytestmark = pytest.mark.slow


def state_of(flow_run_id: UUID) -> str:
    return str(flow_run_of(flow_run_id).state_name)


def reach(flow_run_id: UUID, *names: str) -> None:
    wait_for(lambda: state_of(flow_run_id) in names, f"{names} of {flow_run_id}")


def used_slots(deployment: str) -> int | None:
    async def read(client: PrefectClient) -> int | None:
        limit = (await client.read_deployment_by_name(deployment)).global_concurrency_limit
        return None if limit is None else limit.active_slots

    return ask_server(read)


held = threading.Event()
"""Set, it lets the model answer."""


@pytest.fixture(scope="module")
def provider() -> Iterator[ProviderServer]:
    def reply(asked: Asked) -> Reply:
        return Reply("An answer.", hold=held if "hold" in asked.prompt else None)

    with serving(reply) as server:
        yield server


@pytest.fixture(scope="module")
def server(new_database: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnServer]:
    folder = tmp_path_factory.mktemp("limits")
    variables = {
        "PREFECT_INTEGRATIONS_SWARM_HOME": str(folder / "swarm"),
        "PREFECT_SERVER_CONCURRENCY_INITIAL_DEPLOYMENT_LEASE_DURATION": "30",
        "PREFECT_SERVER_DEPLOYMENTS_CONCURRENCY_SLOT_WAIT_SECONDS": "1",
        "PREFECT_SERVER_TASKS_TAG_CONCURRENCY_SLOT_WAIT_SECONDS": "1",
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in variables.items():
            patch.setenv(name, value)
        with own_server(folder / "server", new_database, **variables) as made:
            prefect_command("work-pool", "create", "swarm", "--type", "process", "--overwrite")
            yield made


def deploy(name: str, strategy: str) -> None:
    prefect_command(
        *("deploy", "prefect_swarm:swarm_flow", "--name", name, "--pool", "swarm"),
        *("--concurrency-limit", "1", "--collision-strategy", strategy),
    )


def start(deployment: str, provider: ProviderServer, prompt: str, **options: Any) -> UUID:
    plan = {**PLAN, "steps": [{**PLAN["steps"][0], "prompt": prompt}]}
    chosen = {"model": provider.name(), "memory": False, **options}
    return start_deployment(deployment, {"objective": "Find out", "plan": plan, "options": chosen})


def test_runs_of_a_deployment_wait_for_their_turn_but_not_for_one_that_waits_for_a_person(
    server: OwnServer, provider: ProviderServer
) -> None:
    held.clear()
    deploy("one", "ENQUEUE")
    with server.worker():
        suspended = start("swarm/one", provider, "answer", approve=["plan"])
        reach(suspended, "Suspended")
        assert used_slots("swarm/one") == 0
        first = start("swarm/one", provider, "hold on")
        wait_for(lambda: any("hold on" in each.prompt for each in provider.asked), "the model")
        second = start("swarm/one", provider, "answer")
        reach(second, "AwaitingConcurrencySlot")
        approved = CliRunner().invoke(app, ["approve", str(suspended)])
        assert approved.exit_code == 0, approved.output
        reach(suspended, "AwaitingConcurrencySlot", "Resuming", "Scheduled")
        held.set()
        for each in (first, second, suspended):
            reach(each, "Completed")
    assert used_slots("swarm/one") == 0


def test_a_run_too_many_is_cancelled_where_the_deployment_says_so(
    server: OwnServer, provider: ProviderServer
) -> None:
    held.clear()
    provider.asked.clear()
    deploy("single", "CANCEL_NEW")
    with server.worker():
        first = start("swarm/single", provider, "hold on")
        wait_for(lambda: any("hold on" in each.prompt for each in provider.asked), "the model")
        second = start("swarm/single", provider, "answer")
        reach(second, "Cancelled")
        held.set()
        reach(first, "Completed")
    assert not any("answer" in each.prompt for each in provider.asked)


@pytest.mark.usefixtures("server", "swarm_home")
def test_a_limit_of_a_tag_holds_for_the_attempts_of_a_swarm_that_is_called_with_it() -> None:
    tag = "team-a"
    ask_server(lambda client: client.create_concurrency_limit(tag=tag, concurrency_limit=1))
    script = Script(lambda _: "Done.")
    plan = plan_of({"id": "S1"}, {"id": "S2"})
    try:
        with scripted(script), tags(tag):
            result = asyncio.run(swarm("Find out", plan=plan, options=SwarmOptions(memory=False)))
    finally:
        ask_server(lambda client: client.delete_concurrency_limit_by_tag(tag))
    assert result.status == "completed"
    assert script.most_at_once == 1
