"""Procedures that a batch's lines and a flow's parameters name, with their parameters' values."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from prefect_swarm import override_models
from prefect_swarm.errors import InputError
from prefect_swarm.flows.batch_files import read_line
from prefect_swarm.flows.options import SwarmOptions
from prefect_swarm.flows.swarm import swarm
from prefect_swarm.plan.procedure import check_procedure
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.store.procedures import save_procedure
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

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
