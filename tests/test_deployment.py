"""`prefect.yaml` deploys as it stands, and a worker runs what it deploys."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from pathlib import Path
from typing import Any, TypeVar, cast

import pytest
from deployments import deploy_all, prefect_command, run_worker, start_deployment
from docs_pages import blocks, page_path
from prefect.client.orchestration import PrefectClient, get_client
from prefect.exceptions import PrefectHTTPStatusError
from prefect_swarm.flows.deployed_options import FIRST, GROUPS
from prefect_swarm.flows.options import SwarmOptions
from prefect_swarm.store.folder import RunFolder

T = TypeVar("T")
PLAN: dict[str, Any] = {
    "objective": "Be polite",
    "agents": [{"name": "Greeter", "system_prompt": "You greet."}],
    "steps": [
        {"id": "S1", "agent": "Greeter", "prompt": "Say hello."},
        {"id": "S2", "agent": "Greeter", "prompt": "Say goodbye.", "depends_on": ["S1"]},
    ],
}
OPTIONS = {"model": "test"}
EMBEDDED = {"max_output_tokens": 8}

pytestmark = [
    pytest.mark.slow,
    pytest.mark.model,
    pytest.mark.usefixtures("prefect_server", "swarm_home"),
]


def _ask(question: Callable[[PrefectClient], Awaitable[T]]) -> T:
    async def ask() -> T:
        async with get_client() as client:
            return await question(client)

    return asyncio.run(ask())


@pytest.fixture(scope="module", autouse=True)
def deploy(prefect_server: None) -> None:
    deploy_all()


def test_the_form_has_a_field_for_each_option() -> None:
    deployment = _ask(lambda client: client.read_deployment_by_name("swarm/swarm"))
    form = cast("dict[str, Any]", deployment.parameter_openapi_schema)
    options = form["properties"]["options"]["properties"]
    fields = {name: options[name] for name in FIRST}
    for group in GROUPS:
        fields |= options[group]["anyOf"][1]["properties"]
    assert set(fields) == set(SwarmOptions.model_fields)
    assert all(field["description"] for field in (*fields.values(), *form["properties"].values()))
    assert form["properties"]["plan"]["anyOf"][0]["format"] == "json-string"
    assert deployment.enforce_parameter_schema


@pytest.mark.parametrize(
    "options",
    [
        {"max_output_tokens": 64, "model": "test"},
        {"max_output_tokens": None, "model": None, "approve": None, "memory": None},
        {"more": None, "more_models": {"worker": "test", "tiers": {"worker": {"concurrency": 2}}}},
        {"more": {"memory": "false"}, "memory": True},
        {},
    ],
)
def test_options_are_let_in_beside_the_groups_and_in_them(options: dict[str, Any]) -> None:
    run = start_deployment("swarm/swarm", {"objective": "Be polite", "options": options})
    _ask(lambda client: client.delete_flow_run(run))


def test_the_batch_has_a_schedule_that_is_off() -> None:
    deployment = _ask(lambda client: client.read_deployment_by_name("swarm-batch/swarm-batch"))
    (schedule,) = deployment.schedules
    assert not schedule.active


@pytest.mark.parametrize(
    "plan",
    [
        pytest.param(json.dumps(PLAN), id="the form's text"),
        pytest.param({"__prefect_kind": "json", "value": json.dumps(PLAN)}, id="JSON input"),
        pytest.param(PLAN, id="an object"),
        pytest.param("", id="an empty form"),
        pytest.param(None, id="nothing"),
    ],
)
def test_what_the_form_sends_is_let_in(plan: object) -> None:
    parameters = {"objective": "Be polite", "plan": plan, "options": OPTIONS}
    run = start_deployment("swarm/swarm", parameters)
    _ask(lambda client: client.delete_flow_run(run))


@pytest.mark.parametrize(
    "wrong",
    [
        {"plan": 5},
        {"options": {"max_steps": 0}},
        {"options": {"modle": "demo"}},
        {"options": {"more": {"modle": "demo"}}},
        {"options": {"turns": 0}},
    ],
)
def test_what_is_wrong_is_refused_before_a_run_is_made(wrong: dict[str, Any]) -> None:
    with pytest.raises(PrefectHTTPStatusError, match="Validation failed"):
        start_deployment("swarm/swarm", {"objective": "Be polite", **wrong})


def test_a_worker_runs_them(tmp_path: Path) -> None:
    jobs, results = tmp_path / "jobs.jsonl", tmp_path / "out" / "results.jsonl"
    jobs.write_text(
        "\n".join([json.dumps({"objective": "Be polite", "plan": PLAN}), "", "{", '"Name a bee"'])
    )
    prefect_command(
        "deployment",
        "run",
        "swarm/swarm",
        "--param",
        "objective=Be polite",
        "--param",
        f"plan={json.dumps(PLAN)}",
        "--param",
        f"options={json.dumps(OPTIONS)}",
    )
    plan = json.dumps({**PLAN, "objective": "Be it"})
    second_run = start_deployment(
        "swarm/swarm", {"objective": "Be it", "plan": plan, "options": OPTIONS}
    )
    batch = start_deployment(
        "swarm-batch/swarm-batch",
        {"input_path": str(jobs), "output_path": str(results), "options": EMBEDDED},
    )

    run_worker()

    runs = _ask(lambda client: client.read_flow_runs())
    # Other tests share the server, and may have asked for the same.
    names = {run.name: run for run in runs if run.deployment_id is not None}
    for name in ("Be polite", "Be it"):
        assert names[name].state_name == "Completed", names[name].state
    result = RunFolder.find(str(second_run)).result()
    assert result is not None
    assert result.answer
    assert [step.status for step in result.steps] == ["succeeded", "succeeded"]

    state = _ask(lambda client: client.read_flow_run(batch)).state
    assert state is not None
    assert state.name == "Partial"
    assert state.message == f"1 of 3 lines failed; see {results}."
    lines = [json.loads(line) for line in results.read_text().splitlines()]
    assert [line["number"] for line in lines] == [1, 3, 4]
    assert [bool(line["result"]) for line in lines] == [True, False, True]
    assert "not JSON" in lines[1]["error"]
    assert not list(results.parent.glob("*.part"))


def test_the_program_of_the_page_has_the_result(capsys: pytest.CaptureFixture[str]) -> None:
    (program,) = blocks(page_path("how-to/deploy.md").read_text("utf-8"), "python")
    code = compile(program, "docs/how-to/deploy.md", "exec")
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(copy_context().run, exec, code, {})
        while not done.done() and not _ask(_has_run_of_the_page):
            pass
        run_worker()
        done.result()
    assert re.fullmatch(r"[0-9a-f]{12} completed .+\n", capsys.readouterr().out, re.DOTALL)


async def _has_run_of_the_page(client: PrefectClient) -> bool:
    runs = await client.read_flow_runs()
    return any(run.parameters.get("objective") == "Name three fruits" for run in runs)
