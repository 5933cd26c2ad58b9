"""Where a worker runs a swarm, the worker alone ends it when it is cancelled."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from uuid import UUID

import pytest
from flow_runs import plan_of
from held_runs import cancel_on_server
from prefect.client.orchestration import get_client
from prefect.client.schemas.actions import WorkPoolCreate
from prefect.deployments import run_deployment
from prefect.settings import get_current_settings
from prefect_swarm.flows.resume import resume
from prefect_swarm.flows.swarm import swarm
from prefect_swarm.store.folder import RunFolder
from provider_runs import serving
from provider_server import Asked, ProviderServer, Reply

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("prefect_server", "swarm_home")]

POOL = "cancelling"
PLAN = plan_of({"id": "S1"}, {"id": "S2", "depends_on": ["S1"]})


async def _deploy() -> None:
    async with get_client() as client:
        await client.create_work_pool(WorkPoolCreate(name=POOL, type="process"), overwrite=True)
        await client.create_deployment(
            flow_id=await client.create_flow(swarm),
            name="cancelling",
            entrypoint="prefect_swarm.flows.swarm:swarm",
            work_pool_name=POOL,
            path=".",
        )


async def _start(server: ProviderServer) -> UUID:
    options = {"model": server.name(), "memory": False}
    given = {"objective": PLAN.objective, "plan": PLAN.model_dump(mode="json"), "options": options}
    run = await run_deployment("swarm/cancelling", parameters=given, timeout=0)  # pyright: ignore
    return run.id


@contextmanager
def _worker(folder: Path) -> Generator[None]:
    with (folder / "worker.log").open("w") as log:
        worker = subprocess.Popen(
            [sys.executable, "-m", "prefect", "worker", "start", "--pool", POOL],
            cwd=folder,
            env={**os.environ, "PREFECT_API_URL": str(get_current_settings().api.url)},
            stdout=log,
            stderr=log,
        )
        try:
            yield
        finally:
            worker.terminate()
            try:
                worker.wait(60)
            except subprocess.TimeoutExpired:
                # On a busy machine a worker may take longer to end than there is time for.
                worker.kill()
                worker.wait()


async def _cancelled(flow_run_id: UUID) -> list[str]:
    """Wait until it is cancelled and its worker is done with it; return its states' names."""
    async with get_client() as client:
        while True:
            run = await client.read_flow_run(flow_run_id)
            states = await client.read_flow_run_states(flow_run_id)
            if run.state_name == "Cancelled":
                return [str(state.name) for state in states]
            await asyncio.sleep(0.1)


def test_a_worker_cancels_a_run_and_it_can_be_resumed(tmp_path: Path) -> None:
    asyncio.run(_deploy())
    second, release = threading.Event(), threading.Event()

    def reply(asked: Asked) -> Reply:
        if len(server.asked) < 2 or release.is_set():
            return Reply("An answer.")
        second.set()
        return Reply("Never read.", hold=release)

    with serving(reply) as server:
        with _worker(tmp_path):
            flow_run_id = asyncio.run(_start(server))
            assert second.wait(120), (tmp_path / "worker.log").read_text()
            asyncio.run(cancel_on_server(str(flow_run_id)))
            names = asyncio.run(asyncio.wait_for(_cancelled(flow_run_id), 60))
        log = (tmp_path / "worker.log").read_text()
        assert names[-2:] == ["Cancelling", "Cancelled"], (names, log)
        assert names.count("Cancelled") == 1, names
        release.set()
        assert RunFolder.find(str(flow_run_id)).result() is None
        result = asyncio.run(resume(str(flow_run_id)))
        assert result.status == "completed"
        assert len(server.asked) == 3, "the first step is not run again"
