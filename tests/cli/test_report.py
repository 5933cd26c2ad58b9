"""`report` writes a stored run as a file that can be sent to somebody."""

from __future__ import annotations

import webbrowser
from pathlib import Path

import pytest
from prefect_swarm.plan.compile import compile_plan
from prefect_swarm.store.folder import RunFolder

from .conftest import Invoke
from .test_inspect import FLOW_RUN, PLAN, RESULT

RUN = "0123abcd0000"


@pytest.fixture
def left(swarm_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunFolder:
    """A run that was left when a step had been made; the current folder is an empty one."""
    RunFolder.of.cache_clear()
    run = RunFolder.of(FLOW_RUN)
    run.write("run.json", {"flow_run_id": FLOW_RUN, "objective": PLAN.objective})
    run.write("plan.json", compile_plan(PLAN).to_json())
    run.save_step(RESULT.steps[0])
    run.write("outputs/S1.txt", '{"name": "Blue", "seats": 4}')
    (folder := tmp_path / "here").mkdir()
    monkeypatch.chdir(folder)
    return run


@pytest.fixture
def ended(left: RunFolder) -> RunFolder:
    left.write("result.json", RESULT)
    return left


def test_it_is_written_beside_the_user_who_reads_where(ended: RunFolder, invoke: Invoke) -> None:
    result = invoke("report", RUN)
    assert result.exit_code == 0
    path = Path.cwd() / f"report-{RUN}.html"
    assert result.stdout == f"Written to {path}\n"
    assert "Describe a small café as data" in path.read_text("utf-8")


def test_a_file_is_written_where_it_was_asked_for(ended: RunFolder, invoke: Invoke) -> None:
    assert invoke("report", FLOW_RUN, "--html", "mine.html").exit_code == 0
    document = Path("mine.html").read_text("utf-8")
    assert "Blue" in document
    assert 'id="page-S3"' in document


def test_standard_output_has_the_document_alone(ended: RunFolder, invoke: Invoke) -> None:
    document = invoke("report", RUN, "--html", "-").stdout
    assert document.startswith("<!DOCTYPE html>")
    assert document.rstrip().endswith("</html>")
    assert list(Path.cwd().iterdir()) == []


def test_a_run_that_has_not_ended_is_shown_as_far_as_it_is(left: RunFolder, invoke: Invoke) -> None:
    document = invoke("report", RUN, "--html", "-").stdout
    assert "unfinished" in document
    assert "prefect-swarm resume" in document
    assert 'id="page-S2"' in document


def test_it_can_be_opened_at_once(
    ended: RunFolder, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def open_it(address: str) -> bool:
        asked.append(address)
        return True

    monkeypatch.setattr(webbrowser, "open", open_it)
    assert invoke("report", RUN, "--open").exit_code == 0
    assert asked == [(Path.cwd() / f"report-{RUN}.html").as_uri()]


def test_where_no_browser_is_the_user_is_told(
    ended: RunFolder, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    def find_none(address: str) -> bool:
        return False

    monkeypatch.setattr(webbrowser, "open", find_none)
    result = invoke("report", RUN, "--open")
    assert result.exit_code == 0
    assert "No browser could be opened" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("nothere",), "No run 'nothere' is stored"),
        ((RUN, "--html", "-", "--open"), "--open needs a file"),
        ((RUN, "--html", "."), "which is a folder"),
        ((RUN, "--html", "no/such/folder.html"), "in a folder that isn't there"),
    ],
)
def test_what_cannot_be_done_is_an_error(
    arguments: tuple[str, ...], problem: str, ended: RunFolder, invoke: Invoke
) -> None:
    result = invoke("report", *arguments)
    assert result.exit_code == 2
    assert problem in result.stderr


def test_a_damaged_run_says_which_file(ended: RunFolder, invoke: Invoke) -> None:
    ended.write("result.json", "{")
    result = invoke("report", RUN)
    assert result.exit_code == 2
    assert "result.json is damaged" in result.stderr


def test_secrets_are_masked(
    ended: RunFolder, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_API_KEY", "a-key-that-nobody-may-read")
    ended.write("outputs/S3.txt", "The key is a-key-that-nobody-may-read.")
    document = invoke("report", RUN, "--html", "-").stdout
    assert "The key is" in document
    assert "a-key-that-nobody-may-read" not in document
