"""Every error has the exit code of what it means, and the page of commands has the same codes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from prefect_swarm import errors
from prefect_swarm.errors import ExitCode, SwarmError, exit_code_of_status
from prefect_swarm.store.result import RunFailedError

DOCS = Path(__file__).parents[1] / "docs"
# What was given or set can't be used: the same command fails again until that is changed.
USAGE = {
    "AnsweredError",
    "ToolsetError",
    "InputError",
    "WorkspaceError",
    "PlanError",
    "RunNotFoundError",
    "RunDamagedError",
    "RunLostError",
    "ModelError",
    "GateError",
    "SandboxError",
}
CANCELLED = {"RunCancelledError": ExitCode.CANCELLED, "RunTerminatedError": ExitCode.TERMINATED}


def all_errors() -> list[type[SwarmError]]:
    named = [getattr(errors, name) for name in errors.__all__]
    return [kind for kind in named if isinstance(kind, type) and issubclass(kind, SwarmError)]


@pytest.mark.parametrize("kind", [*all_errors(), RunFailedError])
def test_an_error_has_the_code_of_what_it_means(kind: type[SwarmError]) -> None:
    name = kind.__name__
    assert kind.exit_code is CANCELLED.get(
        name, ExitCode.USAGE if name in USAGE else ExitCode.FAILED
    )


def test_the_table_in_the_docs_is_the_codes() -> None:
    rows = re.findall(
        r"^\| (\d+) \| (.+?) \|", (DOCS / "reference" / "commands.md").read_text("utf-8"), re.M
    )
    assert [(int(code), meaning) for code, meaning in rows] == [
        (code.value, code.meaning) for code in ExitCode
    ]


@pytest.mark.parametrize(
    ("status", "code"), [("completed", 0), ("partial", 3), ("failed", 1), ("unfinished", 1)]
)
def test_a_run_ends_the_command_with_the_code_of_its_status(status: str, code: int) -> None:
    assert exit_code_of_status(status) == code


def test_advice_that_the_problem_has_is_not_given_again() -> None:
    error = SwarmError("The gate lint can't run: ruff isn't installed. pip install ruff", "")
    outer = SwarmError(f"Step S1 failed: {error}", "pip install ruff.")
    assert str(outer) == f"Step S1 failed: {error}"
    assert SwarmError("It is gone.", "Look again.").advice == "Look again."
