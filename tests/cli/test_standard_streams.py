"""Whoever reads the output may leave: the work goes on, and its exit code stays its own."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from .conftest import COMMAND

PLAN = '{"objective": "x", "agents": [{"name": "A", "system_prompt": "B"}], "steps": [%s]}'
STEP = '{"id": "S1", "agent": "A", "prompt": "Say it"}'


def left(*arguments: str, **more: Any) -> subprocess.CompletedProcess[str]:
    """Run a command whose standard output nobody reads any more."""
    reading, writing = os.pipe()
    os.close(reading)
    options: dict[str, Any] = {"stdout": writing, "stderr": subprocess.PIPE, **more}
    try:
        return subprocess.run(
            [*COMMAND, *arguments], stdin=subprocess.DEVNULL, text=True, timeout=120, **options
        )
    finally:
        os.close(writing)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--help"], 0),
        (["runs"], 0),
        (["runs", "--json"], 0),
        (["memory", "personas", "--json"], 0),
        (["inspect", "12345678", "--json"], 2),
        (["gates", "check", "{0}", "--gates", "format", "--json"], 1),
        (["plan", "--plan", "{1}", "--json"], 0),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_reader_that_leaves_changes_no_code(
    arguments: list[str], code: int, tmp_path: Path, swarm_home: Path
) -> None:
    (bad := tmp_path / "bad.py").write_text("def (:\n")
    (plan := tmp_path / "plan.json").write_text(PLAN % STEP)
    done = left(*[argument.format(bad, plan) for argument in arguments])
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    assert "Broken pipe" not in done.stderr
    assert bool(done.stderr) == (code == 2)


def test_the_errors_reader_may_leave_too(swarm_home: Path) -> None:
    assert left("inspect", "12345678", stderr=subprocess.STDOUT).returncode == 2


def test_closed_streams_are_as_good_as_nobody(swarm_home: Path) -> None:
    shell = f"{' '.join(map(_quoted, COMMAND))} runs --json >&- 2>&- <&-"
    assert subprocess.run(["sh", "-c", shell], timeout=120, check=False).returncode == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_output_that_finds_no_room_is_an_error(swarm_home: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = left("runs", "--json", stdout=full)
    assert done.returncode == 1
    error, way = done.stderr.splitlines()
    assert error == "Error: The output can't be written: No space left on device."
    assert "`prefect-swarm inspect RUN`" in way


@pytest.mark.model
def test_a_run_that_nobody_reads_ends_as_it_would(swarm_home: Path, tmp_path: Path) -> None:
    (plan := tmp_path / "plan.json").write_text(PLAN % STEP)
    short = ("--max-output-tokens", "8", "--no-memory")
    done = left("run", "--plan", str(plan), *short, stderr=subprocess.STDOUT)
    assert done.returncode == 0
    assert [*swarm_home.glob("runs/*/result.json")]


def _quoted(text: str) -> str:
    return f"'{text}'"
