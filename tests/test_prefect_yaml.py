"""Variables and blocks in the parameters of a `prefect.yaml`, and the registered block types."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, cast

import pytest
import yaml
from deployments import prefect_command
from flow_runs import plan_of
from prefect.blocks.core import Block
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import FlowRun
from prefect.deployments import run_deployment
from prefect.flow_engine import run_flow_async
from prefect.variables import Variable
from prefect_swarm import SharedOptions, swarm_flow
from prefect_swarm import blocks as block_types
from prefect_swarm.store.folder import RunFolder
from scripted import Script, scripted

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("prefect_server", "swarm_home")]

PLAN = plan_of({"id": "S1"})
SHARED: dict[str, Any] = {
    "memory": False,
    "max_attempts": 4,
    "tiers": {"worker": {"concurrency": 2}},
}


def deployed(folder: Path, name: str, options: object) -> Any:
    """Deploy by a `prefect.yaml` with these options, and return those that the server has."""
    file = folder / "prefect.yaml"
    deployment = {
        "name": name,
        "entrypoint": "prefect_swarm.flows.swarm:swarm",
        "work_pool": {"name": "templates"},
        "parameters": {"options": options},
    }
    file.write_text(yaml.safe_dump({"pull": [], "deployments": [deployment]}), "utf-8")
    prefect_command("work-pool", "create", "templates", "--type", "process", "--overwrite")
    prefect_command("deploy", "--prefect-file", str(file), "--name", name)

    async def read() -> object:
        async with get_client() as client:
            found = await client.read_deployment_by_name(f"swarm/{name}")
            return found.parameters.get("options")

    return asyncio.run(read())


async def done(name: str, **parameters: Any) -> dict[str, Any]:
    """Have a run of a deployment done, and return the options that it was done with."""
    given = {"objective": PLAN.objective, "plan": PLAN.model_dump(mode="json"), **parameters}
    run: FlowRun = await cast("Any", run_deployment(f"swarm/{name}", parameters=given, timeout=0))
    async with get_client() as client:
        flow_run = await client.read_flow_run(run.id)
    await run_flow_async(swarm_flow, flow_run=flow_run, parameters=flow_run.parameters)
    return dict(RunFolder.of(str(run.id)).about().options or {})


async def _set(**variables: object) -> None:
    for name, value in variables.items():
        await Variable.aset(name, cast("Any", value), overwrite=True)


@pytest.fixture(autouse=True)
def there() -> None:
    asyncio.run(_set(swarm_model="gpt-5-mini", swarm_seconds=600.5, swarm_text="3"))
    SharedOptions(options=SHARED).save("templates", overwrite=True, _sync=True)  # pyright: ignore


def test_variables_and_blocks_stand_in_the_parameters_and_numbers_stay_numbers(
    tmp_path: Path,
) -> None:
    options = deployed(
        tmp_path,
        "templated",
        {
            "coder": "openai:{{ prefect.variables.swarm_model }}",
            "timeout_s": "{{ prefect.variables.swarm_seconds }}",
            "max_attempts": "{{ prefect.blocks.swarm-options.templates.options.max_attempts }}",
            "tiers": "{{ prefect.blocks.swarm-options.templates.options.tiers }}",
            "memory": False,
        },
    )
    assert options == {
        "coder": "openai:gpt-5-mini",
        "timeout_s": 600.5,
        "max_attempts": 4,
        "tiers": SHARED["tiers"],
        "memory": False,
    }
    with scripted(Script()):
        had = asyncio.run(done("templated"))
    assert (had["coder"], had["timeout_s"], had["max_attempts"]) == ("openai:gpt-5-mini", 600.5, 4)
    assert had["tiers"]["worker"]["concurrency"] == 2


def test_all_options_may_be_a_blocks_which_are_then_as_they_were_when_it_was_deployed(
    tmp_path: Path,
) -> None:
    whole = "{{ prefect.blocks.swarm-options.templates.options }}"
    assert deployed(tmp_path, "whole", whole) == SHARED
    changed = SharedOptions(options={**SHARED, "max_attempts": 2})
    changed.save("templates", overwrite=True, _sync=True)  # pyright: ignore
    with scripted(Script()):
        assert asyncio.run(done("whole"))["max_attempts"] == 4


@pytest.mark.parametrize(
    ("value", "why"),
    [
        pytest.param("{{ prefect.variables.swarm_text }}", "'3' is not of type", id="a text"),
        pytest.param("{{ prefect.variables.swarm_gone }}", "'' is not of type", id="no variable"),
        pytest.param("{{ prefect.blocks.swarm-options.gone.options.turns }}", "'gone'", id="block"),
    ],
)
def test_what_is_no_number_or_not_there_is_refused_when_it_is_deployed(
    tmp_path: Path, value: str, why: str
) -> None:
    with pytest.raises(AssertionError, match=why):
        deployed(tmp_path, "refused", {"turns": value})


@pytest.mark.parametrize("module", ["prefect_swarm", "prefect_swarm.blocks"])
def test_all_block_types_are_registered_by_the_package_and_by_its_module(module: str) -> None:
    said = prefect_command("block", "register", "-m", module)
    types = [getattr(block_types, name) for name in block_types.__all__]
    names = {each.get_block_type_name() for each in types if Block.is_block_class(each)}
    assert f"Successfully registered {len(names)} blocks" in said
    assert {line.strip("│ ") for line in said.splitlines() if line.startswith("│")} == names

    async def slugs() -> set[str]:
        async with get_client() as client:
            return {each.slug for each in await client.read_block_types()}

    assert {each.get_block_type_slug() for each in types if Block.is_block_class(each)} <= (
        asyncio.run(slugs())
    )
