"""Runs read files of storage blocks when they begin, and from then on what they stored of them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from flow_runs import plan_of
from prefect.filesystems import LocalFileSystem
from prefect_swarm import SwarmOptions, SwarmResult, resume, swarm, swarm_flow
from prefect_swarm.errors import InputError
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.store.result import RunFailedError
from pydantic_ai.exceptions import ModelHTTPError
from quoted_texts import without_marks
from scripted import Script, scripted

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home")

FORGETFUL = SwarmOptions(memory=False)
TONIGHT = "local-file-system/nightly:tonight/"


@pytest.fixture
def tonight(tmp_path: Path) -> Path:
    """The folder `tonight/` of the storage `local-file-system/nightly`."""
    (folder := tmp_path / "storage" / "tonight").mkdir(parents=True)
    (folder / "sales.csv").write_text("region,sum\nnorth,3\nsouth,4\n")
    (folder / "notes.json").write_text('["first", "second"]')
    block: Any = LocalFileSystem(basepath=str(folder.parent))
    block.save("nightly", overwrite=True)
    return folder


def run_flow(**given: Any) -> SwarmResult:
    flow: Any = swarm_flow
    return asyncio.run(flow("Find out", options=FORGETFUL, **given))


def for_each(items: str) -> Any:
    return plan_of(
        {"id": "S1", "prompt": "Do {item}", "for_each": {"items": items}, "inputs": []},
        {"id": "S2", "depends_on": ["S1"], "inputs": []},
    )


@pytest.mark.usefixtures("tonight")
def test_a_flow_takes_paths_in_storages_as_json_has_them() -> None:
    plan = plan_of({"id": "S1"}).model_dump(mode="json")
    with scripted(Script()) as script:
        result = run_flow(plan=plan, files=[TONIGHT], inputs={"claim": "It rained."})
    assert [*result.plan.inputs] == ["claim", "notes.json", "sales.csv"]
    assert "region,sum" in without_marks(script.prompts[0])


@pytest.mark.usefixtures("tonight")
def test_python_takes_them_beside_local_files(tmp_path: Path) -> None:
    (tmp_path / "own.md").write_text("mine")
    given = [str(tmp_path / "own.md"), TONIGHT, "!*.json"]
    with scripted(Script()):
        result = asyncio.run(
            swarm("Find out", plan=plan_of({"id": "S1"}), inputs=given, options=FORGETFUL)
        )
    assert {*result.plan.inputs} == {"sales.csv", "own.md"}


@pytest.mark.usefixtures("tonight")
@pytest.mark.parametrize(
    ("items", "asked"),
    [
        ("sales.csv", ("north", "south")),
        ("notes.json", ("first", "second")),
        ("*", ("sales.csv", "notes.json")),
    ],
)
def test_rows_elements_and_files_of_a_folder_are_items(items: str, asked: tuple[str, ...]) -> None:
    with scripted(Script()) as script:
        result = run_flow(plan=for_each(items), files=[TONIGHT])
    assert result.status == "completed"
    prompts = [prompt for prompt in script.prompts if "Do " in prompt]
    assert len(prompts) == 2
    for item in asked:
        assert any(item in prompt for prompt in prompts)


def test_each_run_reads_what_lies_there_then_and_a_resumed_one_what_it_stored(
    tonight: Path,
) -> None:
    plan = plan_of({"id": "S1", "inputs": ["sales.csv"]})
    with (
        scripted(Script(lambda _: ModelHTTPError(401, "far"))),
        pytest.raises(RunFailedError) as caught,
    ):
        run_flow(plan=plan, files=[TONIGHT])
    assert caught.value.result is not None
    name = caught.value.result.run_id
    (tonight / "sales.csv").write_text("region,sum\nwest,9\n")
    with scripted(Script()) as script:
        asyncio.run(resume(name))
        run_flow(plan=plan, files=[TONIGHT])
    assert ["north,3" in prompt for prompt in script.prompts] == [True, False]
    assert ["west,9" in prompt for prompt in script.prompts] == [False, True]
    stored = RunFolder.find(name).read_json("inputs.json")
    assert stored["sales.csv"] == "region,sum\nnorth,3\nsouth,4\n"


@pytest.mark.usefixtures("tonight")
@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"files": ["notes.md"]}, "'notes.md' is no path in a storage block"),
        ({"files": ["local-file-system/nightly:../x"]}, "not one inside the storage"),
        ({"files": [TONIGHT], "inputs": {"sales.csv": "x"}}, r"sales\.csv is given twice"),
        ({"files": ["local-file-system/nightly:none.md"]}, "does not exist"),
    ],
)
def test_nothing_is_asked_where_one_cannot_be_read(given: dict[str, Any], problem: str) -> None:
    with scripted(Script()) as script, pytest.raises(InputError, match=problem):
        run_flow(**given)
    assert script.prompts == []


def test_a_deployment_s_form_has_a_list_for_them() -> None:
    flow: Any = swarm_flow
    field = flow.parameters.model_dump()["properties"]["files"]
    assert {"type": "array", "items": {"type": "string"}} in field["anyOf"]
    assert "s3-bucket/reports:tonight/" in field["description"]
