"""Parameters of the flow: a form of plain fields, and JSON Schemas as they are."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any, cast

import pytest
from flow_runs import plan_of
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import FlowRun
from prefect.deployments import run_deployment
from prefect.flow_engine import run_flow_async
from prefect.utilities.callables import parameter_schema
from prefect_swarm import SwarmOptions, TaskIR, resume, swarm, swarm_batch, swarm_flow
from prefect_swarm.plan.task_ir import TIERS
from prefect_swarm.store.result import RunFailedError, SwarmResult
from pydantic import BaseModel
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.models.test import TestModel
from scripted import Script, scripted


class Place(BaseModel):
    name: str


class Trip(BaseModel):
    """Has a part of its own, which its JSON Schema refers to."""

    start: Place
    end: Place


TRIP = '{"start": {"name": "Oslo"}, "end": {"name": "Bergen"}}'
SCHEMA = Trip.model_json_schema()
OPTIONS: dict[str, Any] = {"memory": False, "answer_schema": SCHEMA}


def plan_with_a_schema() -> TaskIR:
    return plan_of({"id": "S1", "output": {"kind": "json", "schema": SCHEMA}})


class TestForm:
    @pytest.fixture
    def form(self) -> dict[str, Any]:
        return parameter_schema(swarm_flow).model_dump(mode="json")

    @pytest.fixture
    def options(self, form: dict[str, Any]) -> dict[str, Any]:
        return form["properties"]["options"]

    def test_it_is_json_whatever_python_may_give(self, form: dict[str, Any]) -> None:
        assert json.loads(json.dumps(form)) == form
        assert set(form["properties"]) == {
            "objective",
            "plan",
            "inputs",
            "files",
            "options",
            "fork",
        }

    def test_a_model_is_a_text(self, options: dict[str, Any]) -> None:
        assert options["properties"]["model"]["type"] == "string"
        models = options["properties"]["more_models"]["anyOf"][1]["properties"]
        assert {models[tier]["type"] for tier in TIERS} == {"string"}

    def test_nothing_of_the_options_is_sent_that_nobody_filled_in(
        self, options: dict[str, Any]
    ) -> None:
        assert options["default"] == {}
        assert '"default"' not in json.dumps(options["properties"])

    def test_a_model_given_as_the_default_is_its_name(self) -> None:
        async def asks(options: SwarmOptions = SwarmOptions(model=TestModel())) -> None:  # noqa: B008
            """Take options that hold a model of Python's."""

        form = parameter_schema(asks).model_dump(mode="json")
        assert form["properties"]["options"]["default"]["model"].startswith("python:test#")

    def test_a_model_has_a_name(self) -> None:
        with pytest.raises(ValueError, match="at least 1 character"):
            SwarmOptions(model="")


@pytest.mark.usefixtures("prefect_server", "swarm_home")
class TestSchemas:
    def test_a_plan_may_have_a_schema_that_refers_to_its_parts(self) -> None:
        with scripted(Script(lambda _: TRIP)) as script:
            result = asyncio.run(
                swarm("Find out", plan=plan_with_a_schema(), options=SwarmOptions(memory=False))
            )
        assert result.answer == TRIP
        assert json.dumps(SCHEMA, sort_keys=True) in script.prompts[0]

    def test_a_resumed_run_has_its_schemas(self) -> None:
        plan, options = plan_with_a_schema(), SwarmOptions(**OPTIONS)
        refused = Script(lambda _: ModelHTTPError(401, "far"))
        with scripted(refused), pytest.raises(RunFailedError) as caught:
            asyncio.run(swarm("Find out", plan=plan, options=options))
        assert caught.value.result is not None
        with scripted(Script(lambda _: TRIP)):
            result = asyncio.run(resume(caught.value.result.run_id))
        assert (result.status, result.answer) == ("completed", TRIP)

    def test_each_line_of_a_batch_is_held_to_the_schema(self, tmp_path: Path) -> None:
        lines, results = tmp_path / "lines.jsonl", tmp_path / "results.jsonl"
        lines.write_text(plan_with_a_schema().model_dump_json())
        with scripted(Script(lambda _: TRIP)):
            asyncio.run(swarm_batch(str(lines), str(results), SwarmOptions(**OPTIONS)))
        (line,) = results.read_text().splitlines()
        assert json.loads(line)["result"]["answer"] == TRIP

    def test_a_deployment_takes_them_as_objects(self) -> None:
        parameters = {
            "objective": "Find out",
            "plan": plan_with_a_schema().model_dump(mode="json"),
            "options": OPTIONS,
        }

        async def started() -> FlowRun:
            deployment = await swarm_flow.ato_deployment("with-schemas")
            await deployment.aapply()
            run = await cast(
                "Any", run_deployment("swarm/with-schemas", parameters=parameters, timeout=0)
            )
            async with get_client() as client:
                return await client.read_flow_run(run.id)

        async def work() -> SwarmResult:
            run = await started()
            result = await run_flow_async(swarm_flow, flow_run=run, parameters=run.parameters)
            return SwarmResult.model_validate(result)

        with scripted(Script(lambda _: TRIP)):
            result = asyncio.run(work())
        assert (result.status, result.answer) == ("completed", TRIP)
