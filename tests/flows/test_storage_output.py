"""Runs write what they made into a storage block when they have ended."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from flow_runs import plan_of
from prefect.filesystems import LocalFileSystem
from prefect_swarm import SwarmOptions, SwarmResult, resume, swarm_flow
from prefect_swarm.errors import InputError, StorageError
from prefect_swarm.flows.batch_run import run_batch
from prefect_swarm.store.result import RunFailedError
from prefect_swarm.store.runs import stored_runs
from pydantic_ai.exceptions import ModelHTTPError
from scripted import Script, scripted

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home")

PLAN = plan_of({"id": "S1"}, {"id": "S2", "depends_on": ["S1"]})
DONE = Script(lambda _: "Done.")


@pytest.fixture
def storage(tmp_path: Path) -> Path:
    """The folder of the storage `local-file-system/out`."""
    (folder := tmp_path / "storage").mkdir()
    block: Any = LocalFileSystem(basepath=str(folder))
    block.save("out", overwrite=True)
    return folder


def run_flow(output_to: str, script: Script | None = None, **options: Any) -> SwarmResult:
    flow: Any = swarm_flow
    chosen = SwarmOptions(memory=False, output_to=output_to, **options)
    with scripted(script or Script(lambda _: "Done.")):
        return asyncio.run(flow("Find out", plan=PLAN, options=chosen))


def files_in(folder: Path) -> dict[str, str]:
    found = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path.relative_to(folder)): path.read_text() for path in found}


def test_the_answer_and_each_artifact_are_written(storage: Path) -> None:
    result = run_flow("local-file-system/out:{date}/{run}/")
    date = datetime.now(UTC).date().isoformat()
    assert files_in(storage / date / result.run_id) == {
        "S1-reader.md": "Done.\n",
        "S2-reader.md": "Done.\n",
        "answer.md": "Done.\n",
    }


def test_a_run_writes_over_what_the_one_before_wrote_and_leaves_the_rest(storage: Path) -> None:
    (storage / "answer.md").write_text("old")
    (storage / "own.md").write_text("mine")
    run_flow("local-file-system/out:")
    written = files_in(storage)
    assert written["answer.md"] == "Done.\n"
    assert written["own.md"] == "mine"


def test_an_answer_with_a_schema_is_json(storage: Path) -> None:
    schema = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
    answers = Script(lambda prompt: "Done." if prompt.startswith("do") else '{"ok": true}')
    run_flow("local-file-system/out:typed", answers, answer_schema=schema)
    assert files_in(storage / "typed")["answer.json"].strip() == '{"ok": true}'


def test_nothing_is_written_of_a_run_in_which_nothing_succeeded(storage: Path) -> None:
    with pytest.raises(RunFailedError):
        run_flow("local-file-system/out:", Script(lambda _: ModelHTTPError(401, "far")))
    assert files_in(storage) == {}


@pytest.mark.usefixtures("storage")
@pytest.mark.parametrize(
    ("output_to", "problem"),
    [
        ("local-file-system/none:x", "there is no block local-file-system/none"),
        ("out", r"no path in a storage block\. Write TYPE/NAME:PATH"),
        ("local-file-system/out:../x", "not one inside the storage"),
        ("local-file-system/out:*.md", "is a pattern"),
        ("local-file-system/out:{day}", r"has \{day\} in it\. Only \{run\} and \{date\}"),
    ],
)
def test_a_place_that_is_not_there_ends_the_run_before_any_model_is_asked(
    output_to: str, problem: str
) -> None:
    script = Script()
    with pytest.raises(InputError, match=problem):
        run_flow(output_to, script)
    assert script.prompts == []


def test_a_storage_that_goes_away_meanwhile_is_written_to_by_a_resume(storage: Path) -> None:
    """A folder that is a file can't be written to, whoever runs this."""

    def lose(reply: str) -> Callable[[str], str]:
        def answer(_: str) -> str:
            if storage.is_dir():
                shutil.rmtree(storage)
                storage.write_text("a file")
            return reply

        return answer

    with pytest.raises(StorageError, match=r"can't be written: .*Write it again: prefect-swarm"):
        run_flow("local-file-system/out:x", Script(lose("Done.")))
    [run] = stored_runs()
    storage.unlink()
    storage.mkdir()
    with scripted(Script()) as script:
        assert asyncio.run(resume(run.run_id)).status == "completed"
    assert script.prompts == []
    assert files_in(storage)["x/answer.md"] == "Done.\n"


def test_lines_of_a_batch_do_not_write_over_each_other() -> None:
    async def batch(output_to: str) -> None:
        async for _ in run_batch(['{"objective": "a"}'], SwarmOptions(output_to=output_to)):
            pass

    with pytest.raises(InputError, match=r"Write \{run\} in it"):
        asyncio.run(batch("local-file-system/out:x"))
