"""Running commands, in this process and in one of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
COMMAND = [sys.executable, "-c", "from prefect_swarm.cli import main; main()"]

Invoke = Callable[..., Result]
Written = Callable[[str, str], Path]

WEEKLY = """\
name: weekly
purpose: Report
parameters:
  week: {type: integer, default: 47}
plan:
  objective: Report on week {param.week}
  agents: [{name: Reader, system_prompt: You read.}]
  steps:
    - {id: S1, agent: Reader, prompt: "read week {param.week}", inputs: [notes.txt]}
"""
"""A procedure's file."""


@pytest.fixture
def invoke(swarm_home: Path, monkeypatch: pytest.MonkeyPatch) -> Invoke:
    """Run a command in this process."""
    monkeypatch.delenv("COLUMNS", raising=False)

    def call(*arguments: object, stdin: str | None = None) -> Result:
        from prefect_swarm.cli.app import app

        return CliRunner().invoke(app, [str(argument) for argument in arguments], input=stdin)

    return call


@pytest.fixture
def in_process_of_its_own(swarm_home: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run a command as a user does; variables are added to the environment."""

    def call(*arguments: object, **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*COMMAND, *map(str, arguments)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
            env={**os.environ, **variables},
            check=False,
        )

    return call


def finished_run(invoke: Invoke, folder: Path, plan: Mapping[str, Any]) -> str:
    """Run a plan without the memory; return the run's id."""
    (file := folder / "plan.json").write_text(json.dumps(plan), "utf-8")
    result = invoke("run", "--plan", file, "--no-memory", "--json")
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)["run_id"]


@pytest.fixture
def written(tmp_path: Path) -> Written:
    """Write a file of that name and text."""

    def write(name: str, text: str) -> Path:
        (path := tmp_path / name).write_text(text, "utf-8")
        return path

    return write


def loaded_by(*arguments: str, of: Collection[str]) -> str:
    """Run a command in a process of its own; return which of these modules it loaded, as a list."""
    code = f"""
import sys
from prefect_swarm.cli import main
sys.argv = ["prefect-swarm", *{arguments!r}]
try:
    main()
except SystemExit as left:
    assert not left.code
print(sorted(set({of!r}) & set(sys.modules)))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout.splitlines()[-1]


@pytest.fixture
def filled(swarm_home: Path) -> Path:
    """A memory of two runs."""
    from memory_commands import ALL, fill

    fill(swarm_home, *ALL)
    return swarm_home
