"""What is lost when workers, or the process that executes a run, are killed: nothing finished."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from cluster_runs import HeldAnswers, about, booking, booking_plan, books, places, the_run
from dask_cluster import DaskCluster, dask_cluster
from flow_runs import plan_of
from prefect.settings import get_current_settings
from prefect_swarm.flows.options import SwarmOptions
from prefect_swarm.flows.resume import resume
from provider_runs import run_at, serving
from provider_server import Asked, Reply
from ready_scripts import start_script

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("prefect_server", "swarm_home")]

DRIVEN = Path(__file__).with_name("driven_run.py")


@pytest.fixture
def cluster(runs_database: str, tmp_path: Path) -> Iterator[DaskCluster]:
    with dask_cluster(tmp_path / "cluster") as cluster:
        yield cluster


def test_a_worker_that_is_killed_costs_its_request_and_no_call(
    cluster: DaskCluster, tmp_path: Path
) -> None:
    workers = {name: cluster.worker(name) for name in ("oak", "elm")}
    killed: list[str] = []

    def before(done: int) -> None:
        if done == 1 and not killed:
            killed.extend(places(the_run()))
            workers[killed[0]].kill()

    with serving(booking(before)) as server:
        result = run_at(server, booking_plan(), executor=cluster.executor, **books(tmp_path))
        asked = len(server.asked)
    assert result.status == "completed"
    assert [attempt.category for attempt in result.steps[0].attempts] == [None]
    assert (tmp_path / "books").read_text() == "line 0\nline 1\n"
    assert asked == 4
    assert places(the_run()) == [({"oak", "elm"} - {*killed}).pop()]


def test_the_router_hears_of_lost_workers_after_the_second(cluster: DaskCluster) -> None:
    workers = {name: cluster.worker(name) for name in ("oak", "elm", "ash")}
    killed: list[str] = []

    def reply(asked: Asked) -> Reply:
        if len(killed) < 2:
            killed.extend(places(the_run()))
            workers[killed[-1]].kill()
        return about(asked)

    with serving(reply) as server:
        result = run_at(server, plan_of({"id": "S1"}), executor=cluster.executor)
    first, second = result.steps[0].attempts
    assert (first.category, second.category) == ("INFRASTRUCTURE", None)
    assert "2 workers were lost" in (first.error or "")
    assert len(set(killed)) == 2


def test_what_a_worker_ends_after_the_runs_process_was_killed_is_not_asked_again(
    cluster: DaskCluster, tmp_path: Path
) -> None:
    cluster.worker("oak")
    reply = HeldAnswers()
    plan = plan_of({"id": "S1"}, {"id": "S2", "depends_on": ["S1"]})
    api = get_current_settings().api.url
    assert api is not None
    with serving(reply) as server:
        options = SwarmOptions(model=server.name(), memory=False, executor=cluster.executor)
        driver = start_script(
            DRIVEN,
            options.model_dump_json(),
            plan.model_dump_json(),
            environment={
                **os.environ,
                "PREFECT_API_URL": api,
                "PREFECT_INTEGRATIONS_SWARM_HOME": str(tmp_path / "driver"),
            },
        )
        reply.asked_for.wait()
        driver.send_signal(signal.SIGSTOP)
        reply.hold.set()
        while not any('"taken"' in text for text in the_run().texts()):
            time.sleep(0.05)
        driver.kill()
        driver.communicate()
        result = asyncio.run(resume(the_run().run_id))
        asked = [each.prompt.splitlines()[-1] for each in server.asked]
    assert result.status == "completed"
    assert asked == ["do S1", "do S2"]
    assert result.cost.calls == 2
