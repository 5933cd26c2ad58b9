"""A flow takes the typed answer of a run that a worker did, from where Prefect keeps its result."""

from __future__ import annotations

import asyncio
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from pathlib import Path
from typing import Any

import pytest
from deployments import prefect_command, run_worker
from docs_pages import blocks, page_path
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import DeploymentFilter, DeploymentFilterName
from prefect.client.schemas.objects import FlowRun
from prefect.filesystems import LocalFileSystem
from prefect.settings import get_current_settings
from provider_runs import serving
from provider_server import Asked, ProviderServer, Reply

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("prefect_server", "swarm_home")]

PAGE = page_path("how-to/nested.md").read_text("utf-8")
PLAN: dict[str, Any] = {
    "create_subagent": [{"name": "Taster", "system_prompt": "You taste."}],
    "assign_task": [{"agent": "Taster", "prompt": "Taste both.", "depends_on": []}],
}
LATER = """
import asyncio, sys
from uuid import UUID
from prefect.client.orchestration import get_client
from prefect_swarm import SwarmResult

async def main():
    async with get_client() as client:
        flow_run = await client.read_flow_run(UUID(sys.argv[1]))
    result = SwarmResult.model_validate(await flow_run.state.aresult())
    print(result.output_as(dict[str, str])["winner"])

asyncio.run(main())
"""


@pytest.fixture(autouse=True)
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[ProviderServer]:
    def reply(asked: Asked) -> Reply:
        return Reply(tool_args=PLAN) if "tools" in asked.body else Reply('{"winner": "tea"}')

    with serving(reply) as server:
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        monkeypatch.setenv("PREFECT_INTEGRATIONS_SWARM_MODEL", server.name())
        monkeypatch.setenv("PREFECT_INTEGRATIONS_SWARM_MEMORY", "false")
        yield server


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """What a storage block names, as two machines would both reach it."""
    block: Any = LocalFileSystem(basepath=str(tmp_path / "results"))
    block.save("results", overwrite=True)
    return tmp_path / "results"


async def _runs() -> list[FlowRun]:
    only = DeploymentFilter(name=DeploymentFilterName(any_=["verdicts"]))
    async with get_client() as client:
        return await client.read_flow_runs(deployment_filter=only)


def test_the_flow_of_the_page_takes_the_answer_of_a_deployments_run_as_its_type(
    results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    prefect_command("work-pool", "create", "swarm", "--type", "process", "--overwrite")
    (deploying,) = blocks(PAGE, "sh")
    deploying = deploying.replace("s3-bucket/results", "local-file-system/results")
    prefect_command(*shlex.split(deploying.replace("\\\n", ""))[2:])
    (program,) = (block for block in blocks(PAGE, "python") if "run_deployment" in block)
    code = compile(program, "docs/how-to/nested.md", "exec")
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(copy_context().run, exec, code, {"__name__": "program"})
        while not done.done() and not asyncio.run(_runs()):
            pass
        run_worker()
        done.result()
    assert capsys.readouterr().out == "tea\n"
    assert list(results.iterdir())

    # A process that has neither the run's folder nor the settings of the one that did it.
    (run,) = asyncio.run(_runs())
    elsewhere = {
        **os.environ,
        "PREFECT_API_URL": str(get_current_settings().api.url),
        "PREFECT_HOME": str(tmp_path / "prefect"),
        "PREFECT_INTEGRATIONS_SWARM_HOME": str(tmp_path / "nowhere"),
    }
    later = subprocess.run(
        [sys.executable, "-c", LATER, str(run.id)],
        env=elsewhere,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (later.stdout, later.returncode) == ("tea\n", 0), later.stderr
