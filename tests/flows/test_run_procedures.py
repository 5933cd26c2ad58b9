"""Procedures that a batch's lines and a flow's parameters name, with their parameters' values."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import pytest
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import FlowRun
from prefect.deployments import run_deployment
from prefect.flow_engine import run_flow_async
from prefect_swarm import override_models
from prefect_swarm.errors import InputError
from prefect_swarm.flows.batch_line import read_line
from prefect_swarm.flows.options import SwarmOptions
from prefect_swarm.flows.resume import resume
from prefect_swarm.flows.swarm import swarm
from prefect_swarm.plan.procedure import check_procedure
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.store.procedures import save_procedure
from prefect_swarm.store.result import RunFailedError
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from scripted import Script, scripted

OWN = {"memory": False, "max_output_tokens": 200}
OPTIONS = SwarmOptions(model="test", memory=False)
PROCEDURE = {
    "name": "weekly-report",
    "purpose": "The sales of a week",
    "parameters": {"week": {"type": "integer"}, "town": {"default": "Graz"}},
    "bounds": {"max_tokens": 50_000, "timeout_s": 90.0},
    "plan": {
        "objective": "Report week {param.week}",
        "agents": [{"name": "Analyst", "system_prompt": "You read tables."}],
        "steps": [
            {"id": "S1", "agent": "Analyst", "prompt": "Sum up week {param.week} in {param.town}."}
        ],
    },
}
FILLED = "Sum up week 48 in “Graz”."


@pytest.fixture(autouse=True)
def stored(swarm_home: Path) -> None:
    del swarm_home
    save_procedure(check_procedure(PROCEDURE, "It"))


def line(**fields: Any) -> str:
    return json.dumps({"procedure": "weekly-report", **fields})


def test_a_line_of_a_batch_has_the_plan_and_the_bounds() -> None:
    job = read_line(line(parameters={"week": 48}, options={"timeout_s": 30}), OPTIONS)
    assert job.plan is not None
    assert (job.objective, job.plan.steps[0].prompt) == ("Report week 48", FILLED)
    assert (job.options.max_tokens, job.options.timeout_s) == (50_000, 30)


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({}, "parameter week .* has no value"),
        ({"parameters": {"week": "soon"}}, "The parameter week"),
        ({"parameters": {"week": 48, "month": 5}}, "has no parameter 'month'"),
        ({"procedure": "yearly-report"}, "no procedure 'yearly-report'"),
        ({"plan": {}}, "plan"),
    ],
)
def test_what_does_not_fit_costs_the_line(fields: dict[str, Any], why: str) -> None:
    with pytest.raises(InputError, match=why):
        read_line(line(**fields), OPTIONS)


@pytest.mark.usefixtures("prefect_server")
@pytest.mark.parametrize("as_text", [False, True])
def test_a_flow_run_is_given_a_procedure_and_keeps_the_plan_that_it_had(as_text: bool) -> None:
    prompts: list[str] = []

    def answer(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        parts = [part for message in messages for part in message.parts]
        prompts.extend(str(part.content) for part in parts if isinstance(part, UserPromptPart))
        return ModelResponse([TextPart("Sales rose.")])

    plan: Any = {"procedure": "weekly-report@1", "parameters": {"week": 48}}
    with override_models(worker=FunctionModel(answer)):
        given: Any = json.dumps(plan) if as_text else plan
        result = asyncio.run(swarm("The report of the week", plan=given, options=OPTIONS))
    assert (result.status, prompts) == ("completed", [FILLED])
    assert result.plan.objective == "The report of the week"
    assert RunFolder.find(result.run_id).about().objective == "The report of the week"


async def deployed_run(options: dict[str, Any], own: dict[str, Any]) -> FlowRun:
    """Return a flow run of a deployment whose runs do the procedure's current version."""
    parameters = {"objective": "The report of the week", "plan": GIVEN, "options": options}
    deployment = await swarm.ato_deployment("weekly", parameters=parameters)
    await deployment.aapply()
    made = await cast("Any", run_deployment("swarm/weekly", parameters={"options": own}, timeout=0))
    async with get_client() as client:
        return await client.read_flow_run(made.id)


async def bounds_of(flow_run: FlowRun) -> list[float | None]:
    """Have a process do the run, and return the bounds that it has."""
    with suppress(RunFailedError):
        await run_flow_async(swarm, flow_run=flow_run, parameters=flow_run.parameters)
    options = RunFolder.of(str(flow_run.id)).about().options or {}
    return [options[name] for name in ("max_tokens", "max_usd", "timeout_s")]


GIVEN = {"procedure": "weekly-report", "parameters": {"week": 48}}


@pytest.mark.usefixtures("prefect_server")
@pytest.mark.parametrize(
    ("deployed", "own", "expected"),
    [
        ({}, {}, [50_000, None, 90.0]),
        ({"max_tokens": 70_000}, {}, [70_000, None, 90.0]),
        ({"max_tokens": 70_000}, {"max_tokens": 60_000, "timeout_s": 30}, [60_000, None, 30.0]),
        ({"max_tokens": 70_000}, {"max_tokens": None}, [50_000, None, 90.0]),
    ],
)
def test_the_bounds_of_a_procedure_hold_where_neither_deployment_nor_run_say_any(
    deployed: dict[str, Any], own: dict[str, Any], expected: list[float | None]
) -> None:
    async def work() -> list[float | None]:
        return await bounds_of(await deployed_run({**OWN, **deployed}, own))

    with scripted(Script()):
        assert asyncio.run(work()) == expected


@pytest.mark.usefixtures("prefect_server")
def test_a_resumed_run_keeps_the_plan_and_the_bounds_that_it_began_with() -> None:
    """The first version has room for no request, and the second one for many."""
    narrow = {**PROCEDURE, "purpose": "Too little", "bounds": {"max_tokens": 150}}
    save_procedure(check_procedure(narrow, "It"))

    async def work() -> tuple[str, str]:
        flow_run = await deployed_run(OWN, {})
        await bounds_of(flow_run)
        save_procedure(check_procedure({**PROCEDURE, "purpose": "Enough"}, "It"))
        run_id = RunFolder.of(str(flow_run.id)).run_id
        with pytest.raises(RunFailedError) as again:
            await resume(run_id)
        raised = await resume(run_id, changes={"max_tokens": 9000})
        failed = again.value.result
        assert failed is not None
        return failed.steps[0].category or "", raised.status

    with scripted(Script()) as script:
        assert asyncio.run(work()) == ("BUDGET", "completed")
    assert script.prompts == [FILLED]
