"""Each command of `prefect-swarm` that a page names exists, with the options that stand there."""

from __future__ import annotations

from typing import Any

import pytest
import typer
from docs_pages import ROOT
from documented.fences import all_pages
from documented.swarm_commands import named_commands, problem_of
from prefect_swarm.cli.app import app


@pytest.fixture(scope="module")
def program() -> Any:
    """All commands."""
    return typer.main.get_command(app)


def test_each_command_of_the_pages_exists(program: Any) -> None:
    short = set(program.commands)
    wrong = [
        f"{page}:{named.line}: {' '.join(named.words)}: {problem}"
        for page in all_pages()
        for named in named_commands((ROOT / page).read_text("utf-8"), short)
        if (problem := problem_of(named.words, program)) is not None
    ]
    assert wrong == []


def test_commands_are_found_in_blocks_and_in_code_of_sentences() -> None:
    page = (
        "Say `prefect-swarm runs --json`, or `A=b prefect-swarm inspect\nRUN`.\n\n"
        "Or `fork RUN --from S3`, but no `plan` and no `other --option`.\n\n"
        "| `prefect-swarm plan` | pip install prefect-swarm more |\n\n"
        '```text\npip install prefect-swarm other\n$ prefect-swarm run "a # b" \\\n'
        "    --stream > file  # why\nUndo it: prefect-swarm edit RUN (or diff)\n```\n"
    )
    found = named_commands(page, short={"fork", "plan"})
    assert [(named.line, named.words) for named in found] == [
        (10, ("run", "a # b", "--stream")),
        (12, ("edit", "RUN")),
        (1, ("runs", "--json")),
        (1, ("inspect", "RUN")),
        (4, ("fork", "RUN", "--from", "S3")),
        (6, ("plan",)),
    ]


@pytest.mark.parametrize(
    "command",
    [
        "--help",
        "COMMAND --help",
        "memory",
        "memory persona NAME",
        "memory persona retire NAME",
        "edit RUN -",
        "inspect RUN --step=S1",
    ],
)
def test_what_exists_is_no_problem(program: Any, command: str) -> None:
    assert problem_of(tuple(command.split()), program) is None


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        ("walk", "walk is not a command"),
        ("memory lessons", "lessons is not a command"),
        ("run --modle demo", "it has no option --modle"),
        ("memory persona NAME --why so", "it has no option --why"),
        ("--jsno", "it has no option --jsno"),
    ],
)
def test_what_does_not_exist_is_named(program: Any, command: str, problem: str) -> None:
    assert problem_of(tuple(command.split()), program) == problem
