"""Checks that a project names itself, and what a planner is told of its files before a run."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from git_folders import as_it_lies, committed
from prefect_swarm import SwarmOptions
from prefect_swarm.errors import WorkspaceError
from prefect_swarm.flows.workspace import told_before_a_run, with_own_checks

OWN = b'[tool.prefect-swarm]\nchecks = ["pytest -q", "ruff check ."]\n'


def test_the_projects_file_stands_for_its_checks() -> None:
    asked = ("make lint", "pyproject.toml")
    assert with_own_checks(asked, OWN) == ("make lint", "pytest -q", "ruff check .")


@pytest.mark.parametrize(
    "project",
    [
        b"",
        b"[tool]\n",
        b"\xff",
        b"tool = 1",
        b"[tool.prefect-swarm]\nchecks = [1]\n",
        b"[tool.prefect-swarm]\nchecks = []\n",
        b"[tool.prefect-swarm]\nchecks = 'a'\n",
    ],
)
def test_a_project_that_names_none_is_told_how(project: bytes) -> None:
    with pytest.raises(WorkspaceError, match="names no checks") as raised:
        with_own_checks(("pyproject.toml",), project)
    assert "[tool.prefect-swarm]" in raised.value.fix


def test_a_planner_is_told_of_the_files_before_there_is_a_run(tmp_path: Path) -> None:
    files = {"pyproject.toml": OWN, "src/a.py": "", "src/b.py": ""}
    user = committed(tmp_path / "user", files)
    before = as_it_lies(user)
    options = SwarmOptions(workspace=str(user), checks=("pyproject.toml",))
    told = asyncio.run(told_before_a_run(options))
    assert told.splitlines()[0] == "3 files (2 .py, 1 .toml)"
    assert "has to pass: pytest -q" in told
    assert "src/ (2 files)" in told
    assert as_it_lies(user) == before
    assert asyncio.run(told_before_a_run(SwarmOptions())) == ""
