"""A run becomes a procedure, which is run again with other values and no request for a plan."""

from __future__ import annotations

import json
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from prefect_swarm.store import recurring, version_figures
from prefect_swarm.store.recurring import Recurring
from scripted import Script, scripted

from .conftest import WEEKLY, Invoke, finished_run

pytestmark = pytest.mark.usefixtures("prefect_server")

PLAN: dict[str, Any] = {
    "objective": "Report on week 47",
    "agents": [{"name": "Reader", "system_prompt": "You read closely."}],
    "inputs": {"notes.txt": "Cold."},
    "steps": [
        {"id": "S1", "agent": "Reader", "prompt": "read week 47", "inputs": ["notes.txt"]},
        {"id": "S2", "agent": "Reader", "prompt": "write week 47", "depends_on": ["S1"]},
    ],
}


@pytest.fixture(autouse=True)
def script() -> Generator[Script]:
    with scripted(Script(reply=lambda prompt: f"about {prompt[-7:]}")) as made:
        yield made


@pytest.fixture
def source(invoke: Invoke, tmp_path: Path, script: Script) -> str:
    run = finished_run(invoke, tmp_path, PLAN)
    script.prompts.clear()
    return run


def shown(invoke: Invoke, *arguments: object) -> Any:
    result = invoke("procedure", *arguments)
    assert result.exit_code == 0, result.stderr
    return result.stdout


def refused(invoke: Invoke, *arguments: object) -> str:
    result = invoke(*arguments)
    assert result.exit_code == 2, result.output
    return " ".join(result.stderr.split())


def test_a_run_is_saved_and_run_again_for_another_week(
    invoke: Invoke, source: str, script: Script, tmp_path: Path
) -> None:
    said = shown(invoke, "save", source, "--name", "weekly", "--param", "week=47")
    assert said.startswith("weekly@1 (")
    assert "2 steps, 1 parameter, its run took " in said
    assert "Run it: prefect-swarm run --procedure weekly --param week=…" in said
    assert "  read week {param.week}" in said
    assert "Its steps read notes.txt: give these to each run by --file." in said

    (tmp_path / "notes.txt").write_text("Mild.", "utf-8")
    given = ("--file", tmp_path / "notes.txt", "--no-memory", "--json")
    result = invoke("run", "--procedure", "weekly", "--param", "week=48", *given)
    assert result.exit_code == 0, result.stderr
    asked = [prompt.splitlines()[-1] for prompt in script.prompts]
    assert asked == ["read week 48", "write week 48"]
    assert "Mild." in script.prompts[0]
    assert json.loads(result.stdout)["cost"]["calls"] == 2


def test_it_says_which_run_it_comes_from_and_what_that_took(invoke: Invoke, source: str) -> None:
    took = json.loads(invoke("inspect", source, "--json").stdout)["cost"]["tokens"]
    shown(invoke, "save", source, "--name", "weekly", "--param", "week=47")
    stored = json.loads(shown(invoke, "show", "weekly", "--json"))
    assert stored["took"]["tokens"] == took
    assert stored["run"] == source
    assert stored["bounds"]["max_tokens"] > 3 * took


def test_bounds_are_made_of_all_runs_alike(
    invoke: Invoke, source: str, tmp_path: Path, script: Script
) -> None:
    script.reply = lambda _: " ".join(f"Part {number} is long." for number in range(90))
    dearer = finished_run(invoke, tmp_path, PLAN)
    took = json.loads(invoke("inspect", dearer, "--json").stdout)["cost"]["tokens"]
    shown(invoke, "save", source, "--name", "weekly", "--param", "week=47")
    stored = json.loads(shown(invoke, "show", "weekly", "--json"))
    assert (stored["took"]["tokens"], stored["took"]["runs"]) == (took, 2)


@pytest.fixture
def weekly(invoke: Invoke, tmp_path: Path) -> Path:
    (file := tmp_path / "weekly.yaml").write_text(WEEKLY, "utf-8")
    shown(invoke, "new", file)
    return file


def test_it_is_edited_as_a_file_compared_and_rolled_back(invoke: Invoke, weekly: Path) -> None:
    weekly.write_text(
        shown(invoke, "show", "weekly").replace("read week", "read all of week"), "utf-8"
    )
    assert "weekly can be stored" in shown(invoke, "check", weekly)
    assert shown(invoke, "new", weekly).startswith("weekly@2 (")
    assert "+      prompt: read all of week {param.week}" in shown(
        invoke, "diff", "weekly@1", "weekly"
    )
    assert "weekly is now weekly@1; it was weekly@2." in shown(invoke, "rollback", "weekly")
    (listed,) = json.loads(shown(invoke, "list", "--json"))["procedures"]
    assert (listed["name"], listed["version"]) == ("weekly", 1)
    assert "Removed weekly: 2 versions." in shown(invoke, "remove", "weekly")
    assert "There are no procedures." in shown(invoke, "list")


def test_a_version_that_does_worse_is_said_before_it_is_run(
    invoke: Invoke, weekly: Path, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(version_figures, "LEAST_RUNS", 1)
    (weekly.parent / "notes.txt").write_text("Cold.", "utf-8")
    given = ("--procedure", "weekly", "--file", weekly.parent / "notes.txt", "--no-memory")
    first = invoke("run", *given)
    assert "Plan of 1 step (procedure weekly@1)" in first.stdout

    weekly.write_text(WEEKLY.replace("read week", "read all of week"), "utf-8")
    shown(invoke, "new", weekly)
    replies = iter(("", "It is read."))
    script.reply = lambda _: next(replies)
    second = invoke("run", *given)
    assert second.exit_code == 0, second.stderr
    worse = "weekly@2 does worse than weekly@1:"
    assert worse not in second.stderr

    assert "2.00 attempts a step, 1.00 before" in shown(invoke, "list")
    assert "1 run of it ended, 1 completed, 2.00 attempts a step" in shown(invoke, "show", "weekly")
    script.reply = lambda _: "It is read."
    third = " ".join(invoke("run", *given).stderr.split())
    assert worse in third
    assert "Go back: prefect-swarm procedure rollback weekly" in third
    shown(invoke, "rollback", "weekly")
    assert worse not in invoke("run", *given).stderr
    row = next(each for each in shown(invoke, "list").splitlines() if "weekly@" in each).split()
    assert (row[0], row[3:5]) == ("weekly@1", ["2", "2"])


def test_versions_are_exported_and_imported_under_their_numbers(
    invoke: Invoke, weekly: Path, tmp_path: Path
) -> None:
    weekly.write_text(WEEKLY.replace("read week", "read all of week"), "utf-8")
    shown(invoke, "new", weekly)
    assert shown(invoke, "export", tmp_path / "all") == (
        f"Wrote 2 versions into {tmp_path / 'all'}.\n"
    )
    files = sorted((tmp_path / "all").iterdir())
    assert [file.name for file in files] == ["weekly@1.yaml", "weekly@2.yaml"]
    before = shown(invoke, "show", "weekly@1")
    shown(invoke, "remove", "weekly")
    assert shown(invoke, "import", files[0]) == "Stored weekly@1.\n"
    assert shown(invoke, "import", *files) == (
        "Stored weekly@2.\n1 version had been stored before.\n"
    )
    assert "# Versions: 1, 2. It is in /" in shown(invoke, "show", "weekly@1")
    assert shown(invoke, "show", "weekly@1").splitlines()[2:] == before.splitlines()[2:]


@pytest.mark.usefixtures("weekly")
@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--procedure", "absent"), "There is no procedure 'absent'"),
        (("--procedure", "weekly", "--param", "week=x"), "--param week: 'x' is no integer"),
        (("--procedure", "weekly", "--param", "week"), "--param 'week' names no value"),
        (("--procedure", "weekly", "--param", "town=Graz"), "has no parameter 'town'"),
        (("--procedure", "weekly", "--param", "week=1"), "notes.txt"),
        (("--procedure", "weekly", "--plan", "x.json"), "--procedure was given with --plan"),
        (("--param", "week=1", "Do it"), "--param was given without --procedure"),
    ],
)
def test_what_cannot_be_run_says_why(
    invoke: Invoke, script: Script, arguments: tuple[str, ...], problem: str
) -> None:
    assert problem in refused(invoke, "run", *arguments)
    assert script.prompts == []


def test_a_text_that_the_plan_does_not_have_is_no_parameter(invoke: Invoke, source: str) -> None:
    problem = refused(invoke, "procedure", "save", source, "--name", "weekly", "--param", "w=4711")
    assert f"Nothing in the plan of run {source} has the text '4711'." in problem


def test_a_name_of_another_form_is_refused(invoke: Invoke, source: str) -> None:
    assert "name" in refused(invoke, "procedure", "save", source, "--name", "Weekly Report")


def test_what_is_planned_again_and_again_is_suggested(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert shown(invoke, "suggest") == "No objective was planned anew 5 times.\n"
    found = Recurring("abc123", "Report of week 47", ("47",), 6, 5000.0, 1200.0, 0.05, 0.012)

    def find(*_: object) -> list[Recurring]:
        return [found]

    monkeypatch.setattr(recurring, "find_recurring", find)
    said = shown(invoke, "suggest")
    assert "Planned 6 times. A run takes 5,000 tokens; a procedure would save the 1,200" in said
    assert "prefect-swarm procedure save abc123 --name NAME --param value=47" in said
    assert json.loads(shown(invoke, "suggest", "--json"))["recurring"][0]["run"] == "abc123"


def test_runs_whose_plans_were_given_are_none_to_suggest(invoke: Invoke, tmp_path: Path) -> None:
    for _ in range(5):
        finished_run(invoke, tmp_path, PLAN)
    assert shown(invoke, "suggest") == "No objective was planned anew 5 times.\n"
