"""A run that failed, or whose model could not be reached for a while, goes on where it was."""

from __future__ import annotations

import asyncio
from uuid import UUID

import pytest
from prefect.client.orchestration import get_client
from prefect.exceptions import CancelledRun
from prefect_swarm.errors import ModelError
from prefect_swarm.flows.control import RunControl, controlled
from prefect_swarm.flows.options import SwarmOptions
from prefect_swarm.flows.resume import resume
from prefect_swarm.flows.swarm import swarm
from prefect_swarm.plan.task_ir import TaskIR, parse_plan
from prefect_swarm.store.events import RunEvent
from prefect_swarm.store.result import RunFailedError
from pydantic_ai.exceptions import ModelHTTPError
from scripted import Script, scripted

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home")


def chain(*prompts: str) -> TaskIR:
    steps = [
        {
            "id": f"S{n}",
            "agent": "Reader",
            "prompt": prompt,
            "depends_on": [f"S{n - 1}"] if n > 1 else [],
        }
        for n, prompt in enumerate(prompts, 1)
    ]
    agents = [{"name": "Reader", "system_prompt": "You read closely."}]
    return parse_plan({"objective": "Find out", "agents": agents, "steps": steps})


def test_what_failed_is_tried_afresh() -> None:
    with scripted(Script(lambda _: ModelHTTPError(401, "far"))), pytest.raises(RunFailedError) as e:
        asyncio.run(swarm("Find out", plan=chain("one"), options=SwarmOptions()))
    assert e.value.result is not None
    with scripted(Script(lambda _: "found")) as script:
        result = asyncio.run(resume(e.value.result.run_id))
    assert (result.status, result.answer) == ("completed", "found")
    assert len(script.prompts) == 1


async def plan_with_the_field_of_the_past(flow_run_id: str) -> None:
    async with get_client() as client:
        flow_run = await client.read_flow_run(UUID(flow_run_id))
        old = {**flow_run.parameters["plan"], "priority": "batch"}
        await client.update_flow_run(flow_run.id, parameters={**flow_run.parameters, "plan": old})


def test_a_run_of_an_earlier_version_goes_on() -> None:
    with scripted(Script(lambda _: ModelHTTPError(401, "far"))), pytest.raises(RunFailedError) as e:
        asyncio.run(swarm("Find out", plan=chain("one"), options=SwarmOptions()))
    assert e.value.result is not None
    asyncio.run(plan_with_the_field_of_the_past(e.value.result.flow_run_id))
    with scripted(Script(lambda _: "found")):
        result = asyncio.run(resume(e.value.result.run_id))
    assert result.status == "completed"


def test_a_step_that_was_reached_at_its_second_attempt_is_not_run_again() -> None:
    errors = [ModelError("The file can't be loaded.")]
    names: list[str] = []
    control = RunControl(lambda event: handle(event))

    def handle(event: RunEvent) -> None:
        if event.kind == "began":
            names.append(event.run)
        if event.kind == "started" and event.step == "S2":
            script.release.clear()
            control.cancel.set()

    def reply(prompt: str) -> str | Exception:
        return errors.pop() if errors and prompt == "one" else f"done: {prompt[-3:]}"

    script = Script(reply, together=2)
    script.release.set()
    with scripted(script), controlled(control), pytest.raises(CancelledRun):
        asyncio.run(swarm("Find out", plan=chain("one", "two"), options=SwarmOptions()))
    with scripted(Script(reply)) as script:
        result = asyncio.run(resume(names[0]))
    assert [prompt[-3:] for prompt in script.prompts] == ["two"]
    first, second = result.steps[0].attempts
    assert (first.category, second.category) == ("INFRASTRUCTURE", None)
    assert first.usage.requests == 1
