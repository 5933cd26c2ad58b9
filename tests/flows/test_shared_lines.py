"""A line that several machines do is left to the one that executes it, and ends no batch."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from flow_runs import plan_of
from prefect.client.schemas.objects import FlowRun
from prefect.exceptions import Abort
from prefect_swarm.errors import RunAliveError
from prefect_swarm.flows import batch_run
from prefect_swarm.flows.batch_line import BatchJob, read_line
from prefect_swarm.flows.batch_run import run_batch
from prefect_swarm.flows.options import SwarmOptions
from prefect_swarm.flows.shared_lines import SharedLine
from prefect_swarm.store.result import SwarmResult

OPTIONS = SwarmOptions(model="test", memory=False)
ALIVE = "Run 1 is being executed by oak process 7."

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home")


def a_line() -> str:
    return json.dumps({"plan": plan_of({"id": "S1"}).model_dump(mode="json")})


@pytest.mark.parametrize("error", [Abort(ALIVE), RunAliveError(ALIVE, "Wait.")])
def test_who_was_slow_to_begin_what_it_created_waits_for_the_machine_that_took_it(
    error: BaseException, tmp_path: Path
) -> None:
    begun: list[str] = []

    async def begin_job(job: BatchJob, flow_run: FlowRun) -> SwarmResult:
        raise error

    async def resume(name: str) -> SwarmResult:
        raise AssertionError(f"{name} has no result yet, and is another machine's")

    line = SharedLine(f"{tmp_path}/line", begin_job, resume)
    job = read_line(a_line(), OPTIONS)
    for _ in range(3):
        assert asyncio.run(line.run(job, begun.append)) is None
    assert len(begun) == 1


def test_a_line_whose_run_another_process_executes_ends_with_that_and_others_go_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole, calls = batch_run.run_job, list[str]()

    async def run_job(job: BatchJob, before: str, begin: object) -> SwarmResult:
        calls.append(job.objective)
        if len(calls) == 1:
            raise Abort(ALIVE)
        return await whole(job, before=before, begin=begin)  # pyright: ignore

    monkeypatch.setattr(batch_run, "run_job", run_job)

    async def ends() -> list[str]:
        return [line.error async for line in run_batch([a_line(), a_line()], OPTIONS)]

    assert asyncio.run(ends()) == [ALIVE, ""]
