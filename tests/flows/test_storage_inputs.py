"""Runs read files of storage blocks when they begin, and from then on what they stored of them."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from flow_runs import plan_of
from office_files import book_of
from prefect.filesystems import LocalFileSystem
from prefect_swarm import SwarmOptions, SwarmResult, resume, swarm, swarm_flow
from prefect_swarm.errors import InputError
from prefect_swarm.flows.batch_files import BatchLine
from prefect_swarm.flows.batch_line import read_line
from prefect_swarm.flows.batch_run import run_batch
from prefect_swarm.flows.shared_lines import line_parameters
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.store.result import RunFailedError
from pydantic_ai.exceptions import ModelHTTPError
from quoted_texts import without_marks
from scripted import Script, scripted

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home")

FORGETFUL = SwarmOptions(memory=False)
STEP = plan_of({"id": "S1"}).model_dump(mode="json")
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


@pytest.mark.usefixtures("tonight")
def test_a_flow_takes_paths_in_storages_as_json_has_them() -> None:
    with scripted(Script()) as script:
        result = run_flow(plan=STEP, files=[TONIGHT], inputs={"claim": "It rained."})
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


def test_rows_elements_and_files_of_a_folder_are_items(tonight: Path) -> None:
    (tonight / "book.xlsx").write_bytes(book_of(Costs=[["part", "eur"], ["bolt", 3], ["nut", 2]]))
    patterns = ("sales.csv", "notes.json", "book.xlsx/Costs.csv", "[ns]*")
    plan = plan_of(
        *(
            {"id": f"S{n}", "prompt": f"{n} {{item}}", "for_each": {"items": each}, "inputs": []}
            for n, each in enumerate(patterns, 1)
        )
    )
    with scripted(Script(lambda _: "Done.")) as script:
        result = run_flow(plan=plan, files=[TONIGHT])
    assert result.status == "completed"
    last = [prompt.splitlines()[-1] for prompt in script.prompts]
    asked = sorted(line for line in last if line[0] in "1234")
    items = ("north", "south", "first", "second", "bolt", "nut", "notes", "sales")
    assert len(asked) == len(items)
    assert all(item in line for line, item in zip(asked, items, strict=True))


@pytest.mark.usefixtures("tonight")
def test_a_line_of_a_batch_takes_them() -> None:
    line = json.dumps({"objective": "Find out", "plan": STEP, "files": [TONIGHT]})
    job = read_line(line, FORGETFUL)
    assert line_parameters(job)["files"] == [TONIGHT]
    with scripted(Script()) as script:
        [ended] = asyncio.run(collected(line))
    assert ended.result is not None
    assert "region,sum" in script.prompts[0]


async def collected(line: str) -> list[BatchLine]:
    return [each async for each in run_batch([line], FORGETFUL)]


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
