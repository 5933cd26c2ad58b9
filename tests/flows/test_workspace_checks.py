"""Checks that a project names itself."""

from __future__ import annotations

import pytest
from prefect_swarm.errors import WorkspaceError
from prefect_swarm.flows.workspace import with_own_checks

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
