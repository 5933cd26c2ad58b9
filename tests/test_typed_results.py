"""A flow takes the typed answer of a run that a worker did, from where Prefect keeps its result."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from deployments import prefect_command, run_worker, start_deployment
from prefect import flow
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import State
from prefect.deployments.runner import EntrypointType
from prefect.filesystems import LocalFileSystem
from prefect.settings import get_current_settings
from prefect_swarm import SwarmResult, swarm_flow
from prefect_swarm.errors import InputError
from provider_runs import serving
from provider_server import ProviderServer, Reply
from pydantic import BaseModel

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("prefect_server", "swarm_home")]


class Verdict(BaseModel):
    """What the deployed run is asked for."""

    winner: str
    reasons: list[str]


ANSWER = '{"winner": "tea", "reasons": ["It wakes you.", "It is cheaper."]}'
PLAN: dict[str, Any] = {
    "objective": "Compare tea and coffee",
    "agents": [{"name": "Taster", "system_prompt": "You taste."}],
    "steps": [{"id": "S1", "agent": "Taster", "prompt": "Taste both."}],
}
LATER = """
import asyncio, sys
from uuid import UUID
from prefect.client.orchestration import get_client
from prefect_swarm import SwarmResult
from pydantic import BaseModel

class Verdict(BaseModel):
    winner: str
    reasons: list[str]

async def main():
    async with get_client() as client:
        flow_run = await client.read_flow_run(UUID(sys.argv[1]))
    result = SwarmResult.model_validate(await flow_run.state.aresult())
    print(result.output_as(Verdict).winner)

asyncio.run(main())
"""


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[ProviderServer]:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    with serving(lambda _: Reply(ANSWER)) as server:
        yield server


@pytest.fixture
def results(tmp_path: Path) -> str:
    """A storage block, as two machines would both reach it; its name."""
    block: Any = LocalFileSystem(basepath=str(tmp_path / "results"))
    block.save("results", overwrite=True)
    return "local-file-system/results"


async def _deploy(provider: ProviderServer) -> None:
    options = {
        "model": provider.name(),
        "memory": False,
        "answer_schema": Verdict.model_json_schema(),
    }
    deployment = await swarm_flow.ato_deployment(
        "verdicts",
        parameters={"options": options},
        work_pool_name="swarm",
        entrypoint_type=EntrypointType.MODULE_PATH,
    )
    await deployment.aapply()


async def _state_of(flow_run_id: UUID) -> State[Any]:
    async with get_client() as client:
        state = (await client.read_flow_run(flow_run_id)).state
    assert state is not None
    return state


@flow
async def judge(flow_run_id: UUID) -> str:
    """Take what the deployment's run came to."""
    state = await _state_of(flow_run_id)
    result = SwarmResult.model_validate(await state.aresult())
    verdict = result.output_as(Verdict)
    with pytest.raises(InputError, match=r"type int: .*valid integer"):
        result.output_as(int)
    return f"{verdict.winner}: {verdict.reasons[1]}"


def test_another_flow_takes_the_answer_of_a_deployments_run_as_its_type(
    provider: ProviderServer, results: str, tmp_path: Path
) -> None:
    prefect_command("work-pool", "create", "swarm", "--type", "process", "--overwrite")
    asyncio.run(_deploy(provider))
    where = {"PREFECT_DEFAULT_RESULT_STORAGE_BLOCK": results}
    run = start_deployment(
        "swarm/verdicts", {"objective": PLAN["objective"], "plan": PLAN}, {"env": where}
    )
    run_worker()
    state = asyncio.run(_state_of(run))
    assert state.name == "Completed", state
    assert list((tmp_path / "results").iterdir())
    assert asyncio.run(judge(run)) == "tea: It is cheaper."
    # A process that has neither the run's folder nor the settings of the one that did it.
    api = get_current_settings().api.url
    elsewhere = {
        **os.environ,
        "PREFECT_API_URL": str(api),
        "PREFECT_HOME": str(tmp_path / "prefect"),
        "PREFECT_INTEGRATIONS_SWARM_HOME": str(tmp_path / "nowhere"),
    }
    later = subprocess.run(
        [sys.executable, "-c", LATER, str(run)],
        env=elsewhere,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (later.stdout, later.returncode) == ("tea\n", 0), later.stderr
