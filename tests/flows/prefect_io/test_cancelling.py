"""A run that is cancelled on the server ends, wherever it runs, and goes on when it is resumed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest
from deployments import prefect_command
from flow_runs import plan_of, run
from held_runs import cancel_on_server, flow_run_of, heard, held_run, started
from prefect import flow
from prefect.client.orchestration import PrefectClient, get_client
from prefect.client.schemas.objects import FlowRun
from prefect.exceptions import CancelledRun
from prefect.runtime import flow_run
from prefect.states import Running
from prefect_swarm.flows.batch import swarm_batch
from prefect_swarm.flows.control import RunControl, controlled
from prefect_swarm.flows.options import SwarmOptions
from prefect_swarm.flows.prefect_io.flow_run import cancelled_on_server
from prefect_swarm.flows.resume import resume
from prefect_swarm.flows.swarm import swarm
from prefect_swarm.models.resolve import override_models
from prefect_swarm.settings import home
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.store.result import RunFailedError
from pydantic_ai.messages import ModelResponse, TextPart
from pydantic_ai.models.function import FunctionModel

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home")

PLAN = plan_of({"id": "S1"}, {"id": "S2", "depends_on": ["S1"]})


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have runs look at the server many times a second."""
    monkeypatch.setenv("PREFECT_INTEGRATIONS_SWARM_CANCEL_POLL_S", "0.05")


def _the_run() -> RunFolder:
    (folder,) = (home() / "runs").iterdir()
    return RunFolder.find(folder.name)


def _flow_run_id() -> str:
    return str(_the_run().about().flow_run_id)


@pytest.mark.usefixtures("often")
def test_cancelling_it_on_the_server_stops_its_requests_and_keeps_what_had_finished() -> None:
    asked: list[str] = []

    async def model(_: Any, __: Any) -> ModelResponse:
        asked.append("asked")
        if len(asked) == 2:
            await cancel_on_server(_flow_run_id())
            try:
                await asyncio.Event().wait()
            finally:
                asked.append("stopped")
        return ModelResponse(parts=[TextPart("an answer")])

    with override_models(worker=FunctionModel(model)):
        with pytest.raises(CancelledRun):
            run(PLAN)
        assert asked == ["asked", "asked", "stopped"]
        cancelled = _the_run()
        assert flow_run_of(_flow_run_id()).state_name == "Cancelled"
        assert cancelled.result() is None
        assert {step.id: step.status for step in cancelled.steps()}["S1"] == "succeeded"

        result = asyncio.run(resume(cancelled.run_id))

    assert result.status == "completed"
    assert asked == ["asked", "asked", "stopped", "asked"], "the first step is not run again"
    assert flow_run_of(result.flow_run_id).state_name == "Completed"


@pytest.mark.slow
def test_prefects_command_cancels_a_run_in_a_process_without_a_worker(tmp_path: Path) -> None:
    calls = tmp_path / "calls"
    with started("-", calls, "plan", PREFECT_INTEGRATIONS_SWARM_CANCEL_POLL_S="0.1") as process:
        name = heard(process, "called plan")
        flow_run_id = RunFolder.find(name).about().flow_run_id
        prefect_command("flow-run", "cancel", flow_run_id)
        process.communicate(timeout=60)
    assert flow_run_of(flow_run_id).state_name == "Cancelled"
    assert asyncio.run(held_run.go_on(name, calls)).status == "completed"


def test_a_request_that_comes_at_a_runs_end_leaves_no_flow_run_cancelling() -> None:
    async def model(_: Any, __: Any) -> ModelResponse:
        # The next look at the server is seconds away.
        await cancel_on_server(_flow_run_id())
        return ModelResponse(parts=[TextPart("an answer")])

    with override_models(worker=FunctionModel(model)):
        result = run(plan_of({"id": "S1"}))
    assert result.status == "completed"
    assert flow_run_of(result.flow_run_id).state_name == "Cancelled"


@pytest.mark.usefixtures("often")
def test_cancelling_a_run_leaves_the_others_of_its_process_alone() -> None:
    flow_runs: list[str] = []
    both = asyncio.Event()

    async def model(messages: Any, __: Any) -> ModelResponse:
        flow_runs.append(str(flow_run.id))
        if len(flow_runs) == 2:
            await cancel_on_server(flow_runs[0])
        if str(flow_run.id) == flow_runs[0]:
            await asyncio.Event().wait()
        await both.wait()
        return ModelResponse(parts=[TextPart("an answer")])

    async def two() -> list[Any]:
        first, second = (
            asyncio.create_task(_ended(plan_of({"id": "S1"})), name=name) for name in "ab"
        )
        done, _ = await asyncio.wait({first, second}, return_when=asyncio.FIRST_COMPLETED)
        both.set()
        ends = [await first, await second]
        assert len(done) == 1
        return ends

    control = RunControl()
    with override_models(worker=FunctionModel(model)), controlled(control):
        ends = asyncio.run(two())
    assert sorted(ends) == ["cancelled", "completed"]
    assert not control.cancel.is_set()


@pytest.mark.usefixtures("often")
def test_a_batch_that_is_cancelled_on_the_server_starts_no_other_line(tmp_path: Path) -> None:
    lines = tmp_path / "lines.jsonl"
    lines.write_text("\n".join([PLAN.model_dump_json()] * 2), "utf-8")
    asked: list[str] = []

    async def model(_: Any, __: Any) -> ModelResponse:
        asked.append(str(flow_run.root_flow_run_id))
        await cancel_on_server(asked[0])
        await asyncio.Event().wait()
        raise AssertionError

    with override_models(worker=FunctionModel(model)), pytest.raises(RunFailedError):
        asyncio.run(swarm_batch(str(lines), str(tmp_path / "out.jsonl"), SwarmOptions()))
    assert len(asked) == 1
    assert flow_run_of(asked[0]).state_name == "Cancelled"
    first, second = (tmp_path / "out.jsonl").read_text("utf-8").splitlines()
    assert "The run was cancelled" in json.loads(first)["error"]
    assert json.loads(second)["error"] == "The batch was cancelled before this line."


async def _ended(plan: Any) -> str:
    call: Callable[..., Any] = swarm
    try:
        result = await call(plan.objective, plan=plan, options=SwarmOptions())
    except CancelledRun:
        return "cancelled"
    return str(result.status)


async def _cancelling_flow_run() -> FlowRun:
    @flow
    async def asked() -> None:
        """Is never run."""

    async with get_client() as client:
        made = await client.create_flow_run(asked)
        await client.set_flow_run_state(made.id, Running(), force=True)
        await cancel_on_server(str(made.id))
    return made


async def _looks_until_cancelled(
    monkeypatch: pytest.MonkeyPatch, *failing: Exception, managed: bool = False
) -> int:
    """Let a run look at a flow run that is CANCELLING; return at which look it is cancelled."""
    made = await _cancelling_flow_run()
    if managed:
        monkeypatch.setenv("PREFECT__FLOW_RUN_ID", str(made.id))
    looks: list[UUID] = []
    failures = [*failing]
    read = PrefectClient.read_flow_run

    async def counted(client: PrefectClient, flow_run_id: UUID) -> FlowRun:
        looks.append(flow_run_id)
        if failures:
            raise failures.pop(0)
        return await read(client, flow_run_id)

    monkeypatch.setattr(PrefectClient, "read_flow_run", counted)
    async with cancelled_on_server(RunControl(), str(made.id)) as control:
        await asyncio.wait_for(control.cancel.wait(), 60)
    assert set(looks) == {made.id}
    return len(looks)


@pytest.mark.usefixtures("often")
def test_a_server_that_does_not_answer_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    away = (httpx.ConnectError("refused"), RuntimeError("Cannot connect"), TimeoutError())
    assert asyncio.run(_looks_until_cancelled(monkeypatch, *away)) == 4


@pytest.mark.usefixtures("often")
def test_where_a_worker_ends_the_process_it_has_the_time_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert asyncio.run(_looks_until_cancelled(monkeypatch, managed=True)) == 13
