"""The page on procedures: its file is one, and its commands and program do what it says."""

from __future__ import annotations

import json
import shlex
from glob import glob
from pathlib import Path

import pytest
from deployments import prefect_command
from docs_pages import blocks, page_path
from prefect_swarm.cli.app import app
from scripted import Script, scripted
from typer.testing import CliRunner

PAGE = page_path("procedures.md").read_text("utf-8")
COMMANDS = [line for block in blocks(PAGE, "sh") for line in block.splitlines()]
PLAN = {
    "objective": "Report week 47",
    "agents": [{"name": "Analyst", "system_prompt": "You read."}],
    "steps": [{"id": "S1", "agent": "Analyst", "prompt": "Sum up week 47 of sales.csv."}],
}


@pytest.fixture
def folder(
    prefect_server: None, swarm_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    del prefect_server, swarm_home
    (folder := tmp_path / "reader").mkdir()
    monkeypatch.chdir(folder)
    (folder / "sales.csv").write_text("week,sales\n47,3\n48,4\n", "utf-8")
    (folder / "plan.json").write_text(json.dumps(PLAN), "utf-8")
    return folder


def type_in(command: str, run: str) -> str:
    """Type a command of the page; return what it writes."""
    if command.startswith("prefect "):
        arguments = shlex.split(command)[1:]
        # Other tests of this process may have made the pool.
        return prefect_command(
            *arguments, *(["--overwrite"] if arguments[0] == "work-pool" else [])
        )
    command, _, file = command.partition(" > ")
    arguments = [run if part == "RUN" else part for part in shlex.split(command)[1:]]
    arguments[-1:] = sorted(glob(arguments[-1])) or arguments[-1:]
    if arguments[0] == "run":
        arguments.append("--no-memory")
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, (command, result.output)
    if file:
        Path(file).write_text(result.stdout, "utf-8")
    return result.stdout


def test_its_commands_do_what_it_says(folder: Path) -> None:
    *_, mail = [block for block in blocks(PAGE, "json") if "steps" in block]
    (folder / "mail.json").write_text(mail, "utf-8")
    (shown,) = [block for block in blocks(PAGE, "text") if block.startswith("Step")]
    with scripted(Script()) as script:
        run = json.loads(type_in("prefect-swarm run --plan plan.json --json", ""))["run_id"]
        for command in COMMANDS:
            if command.startswith("prefect-swarm procedure diff"):
                text = (folder / "weekly-report.yaml").read_text("utf-8")
                (folder / "weekly-report.yaml").write_text(text.replace("Sum up", "Count"), "utf-8")
                type_in("prefect-swarm procedure new weekly-report.yaml", run)
            if command.startswith("prefect-swarm procedure export"):
                # The commands above it removed what there was.
                type_in("prefect-swarm procedure new weekly-report.yaml", run)
            written = type_in(command, run)
            if "mail.json" in command:
                table = " ".join(word for word in written.split() if set(word) != {"─"})
                assert " ".join(shown.split()) in table
    # What it was to do would be done by the next worker.
    type_in("prefect deployment delete swarm/weekly-report", run)
    type_in("prefect-swarm procedure remove weekly-report", run)
    asked = [prompt.splitlines()[-1] for prompt in script.prompts]
    # The others are those of the page, which plans nothing anew; the third is the dry run.
    assert asked == [
        "Sum up week 47 of sales.csv.",
        "Sum up week 48 of sales.csv.",
        "Sum up week 48 of sales.csv.",
        "Count week 48 of sales.csv.",
    ]
    assert "There are no procedures." in type_in("prefect-swarm procedure list", run)


def test_its_file_is_a_procedure_that_its_program_runs(folder: Path) -> None:
    file, _ = blocks(PAGE, "yaml")
    (folder / "weekly-report.yaml").write_text(file, "utf-8")
    type_in("prefect-swarm procedure new weekly-report.yaml", "")
    (program,) = blocks(PAGE, "python")
    script = Script()
    with scripted(script):
        exec(compile(program, "procedures.md", "exec"), {})  # noqa: S102 - the page's
    assert [prompt.splitlines()[-1] for prompt in script.prompts] == ["Sum up week 48 in “Graz”."]
