"""A run says on the server that its process is alive, and isn't counted as crashed while it is."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import httpx
import pytest
from flow_runs import flow_run_states, plan_of, run
from prefect.client.orchestration import get_client
from prefect.runtime import flow_run
from prefect.settings import get_current_settings
from prefect.states import Crashed
from prefect_swarm.errors import InputError
from prefect_swarm.flows.prefect_io.flow_run import HEARTBEAT, send_heartbeat
from prefect_swarm.models.resolve import override_models
from prefect_swarm.settings import SwarmSettings
from pydantic_ai.messages import ModelResponse, TextPart
from pydantic_ai.models.function import FunctionModel

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home")

PLAN = plan_of({"id": "S1"}, {"id": "S2", "depends_on": ["S1"]})


def _answer(*_: Any) -> ModelResponse:
    return ModelResponse(parts=[TextPart("an answer")])


async def _heartbeats(flow_run_id: str, least: int) -> list[dict[str, Any]]:
    """Return the heartbeats of a flow run that the server has heard, once they are so many."""
    api = get_current_settings().api.url
    resource = {"id": [f"prefect.flow-run.{flow_run_id}"]}
    wanted = {"filter": {"event": {"name": [HEARTBEAT]}, "resource": resource}, "limit": 50}
    async with httpx.AsyncClient() as client:
        while True:
            answer = await client.post(f"{api}/events/filter", json=wanted)
            found: list[dict[str, Any]] = answer.raise_for_status().json()["events"]
            if len(found) >= least:
                return found
            await asyncio.sleep(0.1)


def heartbeats(flow_run_id: str, least: int) -> list[dict[str, Any]]:
    return asyncio.run(asyncio.wait_for(_heartbeats(flow_run_id, least), 60))


async def _until_not_crashed(flow_run_id: str) -> None:
    while True:
        if (await flow_run_states(flow_run_id))[-1].name != "Crashed":
            return
        await asyncio.sleep(0.05)


def test_heartbeats_come_while_a_run_works_and_none_after_its_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PREFECT_INTEGRATIONS_SWARM_HEARTBEAT_S", "0.05")

    async def model(*_: Any) -> ModelResponse:
        # It answers when the server has heard several.
        await _heartbeats(str(flow_run.id), 3)
        return _answer()

    with override_models(worker=FunctionModel(model)):
        result = run(PLAN)
    found = heartbeats(result.flow_run_id, 3)
    end = asyncio.run(flow_run_states(result.flow_run_id))[-1]
    assert end.name == "Completed"
    assert max(event["occurred"] for event in found) < end.timestamp.isoformat()
    flows = {
        related["prefect.resource.name"]
        for event in found
        for related in event["related"]
        if related["prefect.resource.role"] == "flow"
    }
    assert flows == {"swarm"}


def test_a_run_sends_its_first_heartbeat_at_once() -> None:
    assert SwarmSettings().heartbeat_s == 30
    with override_models(worker=FunctionModel(_answer)):
        result = run(PLAN)
    sent = [datetime.fromisoformat(each["occurred"]) for each in heartbeats(result.flow_run_id, 1)]
    states = asyncio.run(flow_run_states(result.flow_run_id))
    began = next(state.timestamp for state in states if state.name == "Running")
    # On a busy server the run may last for another one.
    assert min(sent) - began < timedelta(seconds=30)


def test_a_run_that_counts_as_crashed_while_it_works_is_running_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PREFECT_INTEGRATIONS_SWARM_CANCEL_POLL_S", "0.05")

    async def model(*_: Any) -> ModelResponse:
        flow_run_id = str(flow_run.id)
        async with get_client() as client:
            await client.set_flow_run_state(UUID(flow_run_id), Crashed(), force=True)
        await _until_not_crashed(flow_run_id)
        return _answer()

    with override_models(worker=FunctionModel(model)):
        result = run(plan_of({"id": "S1"}))
    states = [state.name for state in asyncio.run(flow_run_states(result.flow_run_id))]
    assert states[-3:] == ["Crashed", "Running", "Completed"]


def test_outside_of_a_flow_run_there_is_nothing_to_send() -> None:
    send_heartbeat()


def test_no_time_between_two_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PREFECT_INTEGRATIONS_SWARM_HEARTBEAT_S", "0")
    with pytest.raises(InputError, match="HEARTBEAT_S"):
        SwarmSettings()
