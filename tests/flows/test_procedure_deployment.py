"""A deployment of a procedure: its form, what the server takes and refuses, and its runs."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from deployments import run_worker, start_deployment
from jsonschema import Draft202012Validator
from prefect.client.orchestration import get_client
from prefect.client.schemas.actions import WorkPoolCreate
from prefect.client.schemas.objects import FlowRun
from prefect.client.schemas.responses import DeploymentResponse
from prefect.deployments import run_deployment
from prefect.exceptions import PrefectHTTPStatusError
from prefect.flow_engine import run_flow_async
from prefect.settings import PREFECT_API_URL, temporary_settings
from prefect_swarm.cli.app import app
from prefect_swarm.errors import InputError
from prefect_swarm.flows.prefect_io.child_run import takes_any_plan
from prefect_swarm.flows.procedure_deployment import (
    deploy_procedure,
    form_of_procedure,
    parameters_of,
)
from prefect_swarm.flows.swarm import swarm
from prefect_swarm.plan.procedure import check_procedure
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.store.procedures import StoredProcedure, save_procedure
from scripted import Script, scripted
from typer.testing import CliRunner

POOL = "procedures"
PROCEDURE: dict[str, Any] = {
    "name": "weekly-report",
    "purpose": "The sales of a week",
    "parameters": {
        "week": {"type": "integer", "description": "The week's number"},
        "town": {"default": "Graz"},
        "rate": {"type": "number", "default": 0.5},
        "loud": {"type": "boolean", "default": False},
    },
    "bounds": {"max_tokens": 50_000},
    "plan": {
        "objective": "Report week {param.week}",
        "agents": [{"name": "Analyst", "system_prompt": "You read tables."}],
        "steps": [
            {
                "id": "S1",
                "agent": "Analyst",
                "prompt": "Week {param.week}, {param.town}, {param.rate}, {param.loud}.",
            }
        ],
    },
}
GOOD: dict[str, Any] = {"week": 48, "town": "Wien"}
BAD: list[tuple[Any, str]] = [
    ({}, "'week' is a required property"),
    ({"week": "soon"}, "'soon' is not of type 'integer'"),
    ({"week": 48, "month": 5}, "'month' was unexpected"),
    ({"week": 48, "rate": "half"}, "'half' is not of type 'number'"),
    ({"week": 48, "loud": "yes"}, "'yes' is not of type 'boolean'"),
    ({"week": 48, "town": "Graz\nWien"}, "does not match"),
    ({"week": 48, "town": "x" * 301}, "is too long"),
]


@pytest.fixture(autouse=True)
def stored(swarm_home: Path) -> StoredProcedure:
    del swarm_home
    return save_procedure(check_procedure(PROCEDURE, "It"))


def plan(values: Any, reference: str = "weekly-report@1") -> dict[str, Any]:
    return {"procedure": reference, "parameters": values}


# --- the form -----------------------------------------------------------------------------------


@pytest.fixture
def form(stored: StoredProcedure) -> dict[str, Any]:
    return form_of_procedure(stored, swarm.parameters.model_dump(exclude_unset=True))


def test_the_form_has_the_procedure_and_a_field_for_each_parameter(form: dict[str, Any]) -> None:
    fields = form["properties"]["plan"]["properties"]
    assert fields["procedure"]["const"] == fields["procedure"]["default"] == "weekly-report@1"
    parameters = fields["parameters"]["properties"]
    assert [(name, each["type"]) for name, each in parameters.items()] == [
        ("week", "integer"),
        ("town", "string"),
        ("rate", "number"),
        ("loud", "boolean"),
    ]
    assert parameters["week"]["description"] == "The week's number"
    assert "default" not in parameters["week"]
    assert parameters["town"]["default"] == "Graz"
    assert fields["parameters"]["required"] == ["week"]
    assert form["properties"]["plan"]["description"] == "The sales of a week"


def test_the_form_has_no_field_for_a_fork(form: dict[str, Any]) -> None:
    assert [*form["properties"]] == ["objective", "plan", "inputs", "files", "options"]


def test_a_procedure_without_parameters_has_its_name_alone() -> None:
    bare = {**PROCEDURE, "name": "bare", "parameters": {}}
    bare["plan"] = {**PROCEDURE["plan"], "objective": "Report", "steps": []}
    bare["plan"]["steps"] = [{"id": "S1", "agent": "Analyst", "prompt": "Report."}]
    known = save_procedure(check_procedure(bare, "It"))
    form = form_of_procedure(known, swarm.parameters.model_dump(exclude_unset=True))
    given = parameters_of(known, {})
    assert given["plan"] == {"procedure": "bare@1"}
    Draft202012Validator(form).validate(given)


def test_what_a_deployment_gives_its_runs_fits_its_form(
    stored: StoredProcedure, form: dict[str, Any]
) -> None:
    options = {"model": "test", "tiers": {"worker": {"concurrency": 2}}}
    given = parameters_of(stored, {"week": 48}, options=options)
    assert given == {
        "objective": "The sales of a week",
        "plan": plan({"week": 48, "town": "Graz", "rate": 0.5, "loud": False}),
        "options": options,
    }
    Draft202012Validator(form).validate(given)


@pytest.mark.parametrize(
    ("given", "options", "problem"),
    [
        ({"month": 5}, {}, "no parameter 'month'"),
        ({"week": "soon"}, {}, "The parameter week"),
        ({}, {"turns": 0}, "turns got 0"),
        ({}, {"max_dollars": 2}, "max_dollars"),
        ({}, {"model": "openai:m@http://ann:sesame@host/v1"}, "password"),
    ],
)
def test_what_a_deployment_can_not_give_is_named(
    stored: StoredProcedure, given: dict[str, Any], options: dict[str, Any], problem: str
) -> None:
    with pytest.raises(InputError, match=problem):
        parameters_of(stored, given, options=options)


# --- on the server ------------------------------------------------------------------------------


@pytest.fixture
def script(prefect_server: None) -> Iterator[Script]:
    """A server with a work pool, and models that answer."""
    del prefect_server
    with scripted(Script()) as made:
        asyncio.run(make_pool())
        yield made


async def make_pool() -> None:
    async with get_client() as client:
        await client.create_work_pool(WorkPoolCreate(name=POOL, type="process"), overwrite=True)


async def read(name: str = "weekly-report") -> DeploymentResponse:
    async with get_client() as client:
        return await client.read_deployment_by_name(f"swarm/{name}")


def deploy(
    stored: StoredProcedure, given: dict[str, Any] | None = None, **how: str
) -> DeploymentResponse:
    """Deploy a procedure, and return what the server has."""
    options = {"memory": False}

    async def work() -> DeploymentResponse:
        parameters = parameters_of(stored, given or {}, options=options)
        await deploy_procedure(stored, POOL, parameters, **how)
        return await read(how.get("name", "weekly-report"))

    return asyncio.run(work())


async def start(**parameters: Any) -> FlowRun:
    run = await cast("Any", run_deployment("swarm/weekly-report", parameters=parameters, timeout=0))
    async with get_client() as client:
        return await client.read_flow_run(run.id)


async def done(flow_run: FlowRun) -> RunFolder:
    await run_flow_async(swarm, flow_run=flow_run, parameters=flow_run.parameters)
    return RunFolder.of(str(flow_run.id))


@pytest.mark.usefixtures("script")
def test_the_server_has_the_form_and_what_each_run_is_given(
    stored: StoredProcedure, form: dict[str, Any]
) -> None:
    found = deploy(stored)
    assert found.parameter_openapi_schema == form
    assert (found.enforce_parameter_schema, found.work_pool_name) == (True, POOL)
    assert found.parameters["plan"] == plan({"town": "Graz", "rate": 0.5, "loud": False})
    assert not takes_any_plan(found.parameter_openapi_schema)
    assert takes_any_plan(swarm.parameters.model_dump(exclude_unset=True))


def test_a_run_with_good_values_ends_with_them_and_the_procedures_bounds(
    stored: StoredProcedure, script: Script
) -> None:
    deploy(stored)

    async def work() -> RunFolder:
        return await done(await start(plan=plan(GOOD)))

    folder = asyncio.run(work())
    assert script.prompts == ["Week 48, “Wien”, 0.5, false."]
    result = folder.result()
    assert result is not None
    assert (result.status, result.plan.objective) == ("completed", "The sales of a week")
    assert (folder.about().options or {})["max_tokens"] == 50_000


@pytest.mark.parametrize(("values", "problem"), BAD)
def test_bad_values_are_refused_before_there_is_a_run(
    stored: StoredProcedure, script: Script, values: Any, problem: str
) -> None:
    deploy(stored)
    with pytest.raises(PrefectHTTPStatusError) as refused:
        asyncio.run(start(plan=plan(values)))
    assert problem in refused.value.response.json()["detail"]
    assert script.prompts == []


@pytest.mark.usefixtures("script")
@pytest.mark.parametrize("other", [{"agents": []}, "{}", plan(GOOD, "weekly-report@2"), None])
def test_no_other_plan_is_taken(stored: StoredProcedure, other: Any) -> None:
    deploy(stored)
    with pytest.raises(PrefectHTTPStatusError, match="409"):
        asyncio.run(start(plan=other))


def test_a_run_that_is_given_nothing_has_the_values_of_the_deployment(
    stored: StoredProcedure, script: Script
) -> None:
    deploy(stored, {"week": 7, "loud": True})

    async def work() -> None:
        await done(await start())

    asyncio.run(work())
    assert script.prompts == ["Week 7, “Graz”, 0.5, true."]


@pytest.mark.usefixtures("script")
def test_deploying_again_renews_the_version_the_form_and_the_schedule(
    stored: StoredProcedure,
) -> None:
    first = deploy(stored, {"week": 7}, cron="0 6 * * 1", timezone="Europe/Vienna")
    (schedule,) = first.schedules
    assert cast("Any", schedule.schedule).cron == "0 6 * * 1"
    parameters = {**PROCEDURE["parameters"], "week": {"default": "next"}}
    newer = save_procedure(check_procedure({**PROCEDURE, "parameters": parameters}, "It"))
    second = deploy(newer)
    assert (second.id, second.schedules) == (first.id, [])
    assert second.parameters["plan"]["procedure"] == "weekly-report@2"
    asyncio.run(start(plan=plan({"week": "this"}, "weekly-report@2")))


@pytest.mark.usefixtures("script")
@pytest.mark.parametrize(
    ("how", "problem"),
    [
        ({"cron": "0 6 * * 1"}, "no value of the parameter week of weekly-report@1"),
        ({"cron": "each Monday", "week": 7}, "'each Monday' with the time zone UTC"),
        ({"cron": "0 6 * * 1", "timezone": "Vienna", "week": 7}, "time zone Vienna"),
        ({"pool": "absent"}, "has no work pool 'absent'"),
    ],
)
def test_what_can_not_be_deployed_says_why(
    stored: StoredProcedure, how: dict[str, Any], problem: str
) -> None:
    given = {"week": how.pop("week")} if "week" in how else {}
    parameters = parameters_of(stored, given)
    with pytest.raises(InputError, match=problem):
        asyncio.run(deploy_procedure(stored, how.pop("pool", POOL), parameters, **how))


def test_without_a_server_that_goes_on_nothing_is_deployed(stored: StoredProcedure) -> None:
    with (
        temporary_settings(restore_defaults={PREFECT_API_URL}),
        pytest.raises(InputError, match="none is configured"),
    ):
        asyncio.run(deploy_procedure(stored, POOL, parameters_of(stored, {})))


# --- the command --------------------------------------------------------------------------------


def command(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["procedure", "deploy", "weekly-report", *arguments])
    assert result.exit_code == 0, result.output
    return " ".join(result.stdout.split())


@pytest.mark.usefixtures("script")
def test_the_command_says_what_a_run_has_to_be_given() -> None:
    said = command("--pool", POOL)
    assert "swarm/weekly-report is deployed on the work pool procedures" in said
    assert "its runs do weekly-report@1." in said
    assert "prefect deployment run swarm/weekly-report --param plan='{" in said
    assert '"week": "…"' in said
    said = command("--pool", POOL, "--param", "week=7", "--name", "mondays", "--cron", "0 6 * * 1")
    assert said.endswith("Run it: prefect deployment run swarm/mondays")
    assert asyncio.run(read("mondays")).parameters["plan"]["parameters"]["week"] == 7


@pytest.mark.usefixtures("script")
@pytest.mark.parametrize("options", ["{", "[]", '{"turns": 0}'])
def test_options_that_are_none_are_refused(options: str) -> None:
    arguments = ["procedure", "deploy", "weekly-report", "--pool", POOL, "--run-options", options]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 2, result.output


@pytest.mark.slow
@pytest.mark.usefixtures("prefect_server")
def test_a_worker_does_a_run_of_it() -> None:
    asyncio.run(make_pool_of_worker())
    command("--pool", "swarm", "--run-options", '{"model": "test", "memory": false}')
    flow_run_id = start_deployment("swarm/weekly-report", {"plan": plan(GOOD)})
    run_worker()
    result = RunFolder.of(str(flow_run_id)).result()
    assert result is not None
    assert result.status == "completed"
    assert result.plan.procedure == "weekly-report@1"


async def make_pool_of_worker() -> None:
    async with get_client() as client:
        await client.create_work_pool(WorkPoolCreate(name="swarm", type="process"), overwrite=True)
