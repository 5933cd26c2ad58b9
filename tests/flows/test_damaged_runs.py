"""The cost of damaged or missing files is reported beforehand, and the advice repairs them."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from flow_runs import plan_of, run
from prefect.settings import PREFECT_LOCAL_STORAGE_PATH, temporary_settings
from prefect_swarm.cli.app import app
from prefect_swarm.cli.run import warn_of_lost
from prefect_swarm.errors import RunCancelledError, RunDamagedError
from prefect_swarm.flows.resume import resume
from prefect_swarm.flows.stored_plan import paid_again
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.store.result import SwarmResult
from scripted import Script, scripted
from typer.testing import CliRunner

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home", "results")

CHAIN = plan_of({"id": "S1"}, {"id": "S2", "depends_on": ["S1"]})


@pytest.fixture
def results(tmp_path: Path) -> Iterator[Path]:
    """A folder of its own for Prefect's results."""
    folder = tmp_path / "results"
    with temporary_settings({PREFECT_LOCAL_STORAGE_PATH: str(folder)}):
        yield folder


def completed() -> SwarmResult:
    with scripted(Script()):
        return run(CHAIN)


def resumed(name: str) -> tuple[SwarmResult, list[str]]:
    """Resume a run; return its result, and what was asked."""
    with scripted(Script()) as script:
        return asyncio.run(resume(name)), [prompt[-5:] for prompt in script.prompts]


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:20])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def garble(path: Path) -> None:
    path.write_bytes(b"\xff\xfe\x00garbage")


DAMAGES = pytest.mark.parametrize("damage", [cut, empty, garble, Path.unlink])


@DAMAGES
def test_a_run_is_found_although_what_names_it_is_damaged(
    damage: Callable[[Path], None],
) -> None:
    result = completed()
    damage(RunFolder.find(result.run_id).folder / "run.json")
    assert RunFolder.find(result.run_id).about().flow_run_id == result.flow_run_id
    assert resumed(result.run_id) == (result, [])


def test_a_run_that_nothing_names_any_more_is_found_by_its_flow_runs_whole_id() -> None:
    result = completed()
    folder = RunFolder.find(result.run_id).folder
    for name in ("run.json", "accounts.jsonl", "result.json"):
        empty(folder / name)
    with pytest.raises(RunDamagedError, match="Give the flow run's whole id instead") as error:
        RunFolder.find(result.run_id)
    assert "prefect flow-run ls" in error.value.fix
    again, asked = resumed(result.flow_run_id)
    assert (again.status, asked) == ("completed", [])
    assert RunFolder.find(result.run_id).about().flow_run_id == result.flow_run_id


@pytest.mark.parametrize("damage", [cut, Path.unlink])
@pytest.mark.parametrize(
    "name", ["result.json", "steps/S1.json", "outputs/S1.txt", "planned.json", "recall.json"]
)
def test_any_other_file_is_written_again_and_nothing_is_paid_for(
    name: str, damage: Callable[[Path], None]
) -> None:
    result = completed()
    stored = RunFolder.find(result.run_id)
    (stored.folder / "result.json").unlink()
    if name != "result.json":
        damage(stored.folder / name)
    assert asyncio.run(paid_again(stored)) == ()
    again, asked = resumed(result.run_id)
    assert (again.status, asked) == ("completed", [])
    assert stored.result() == again
    assert asyncio.run(paid_again(stored)) == ()


def test_a_damaged_file_is_named_with_the_advice_that_mends_it() -> None:
    result = completed()
    cut(RunFolder.find(result.run_id).folder / "result.json")
    shown = CliRunner().invoke(app, ["inspect", result.run_id])
    assert shown.exit_code == 2
    assert "result.json is damaged" in shown.stderr
    assert f"prefect-swarm resume {result.run_id}" in shown.stderr
    resumed(result.run_id)
    assert CliRunner().invoke(app, ["inspect", result.run_id]).exit_code == 0


@pytest.mark.parametrize("damage", [cut, garble, Path.unlink])
def test_what_is_lost_everywhere_is_named_before_it_is_paid_for_again(
    results: Path, damage: Callable[[Path], None]
) -> None:
    result = completed()
    stored = RunFolder.find(result.run_id)
    (stored.folder / "result.json").unlink()
    damage(stored.folder / "steps/S2.json")
    for path in results.rglob("*"):
        if path.is_file() and ".S2." in path.name:
            damage(path)
    assert asyncio.run(paid_again(stored)) == ("S2",)
    with scripted(Script()) as script:
        ended = CliRunner().invoke(app, ["resume", result.run_id, "--json"])
    assert "The results of S2 are damaged or gone" in ended.stderr
    assert "paid for, again" in ended.stderr
    again = SwarmResult.model_validate_json(ended.stdout)
    assert (again.status, len(script.prompts)) == ("completed", 1)
    assert again.cost.calls == 3, "S2 was paid for twice"


def test_a_run_without_any_of_prefects_results_pays_for_nothing_that_had_finished(
    results: Path,
) -> None:
    result = completed()
    (RunFolder.find(result.run_id).folder / "result.json").unlink()
    shutil.rmtree(results)
    again, asked = resumed(result.run_id)
    assert (again.status, asked) == ("completed", [])


def test_on_a_terminal_it_is_asked_first(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = completed()
    shutil.rmtree(results)
    for path in RunFolder.find(result.run_id).folder.glob("*/S*"):
        path.unlink()
    (RunFolder.find(result.run_id).folder / "result.json").unlink()
    questions: list[str] = []

    def refuse(question: str, **_: object) -> bool:
        questions.append(question)
        return False

    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("prefect_swarm.cli.run.typer.confirm", refuse)
    with scripted(Script()) as script, pytest.raises(RunCancelledError, match="Nothing was done"):
        asyncio.run(warn_of_lost(RunFolder.find(result.run_id), ask=True))
    assert (questions, script.prompts) == (["Go on?"], [])
