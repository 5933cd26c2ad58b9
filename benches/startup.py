"""How long a command takes before it does anything, beside the imports that it can't do without."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

__all__ = ["run"]

ROUNDS = 7
_PLAN = Path(__file__).parents[1] / "examples" / "uneven.json"
_MAIN = "from prefect_swarm.cli import main; main()"
COMMANDS = {
    "`python -c pass`": ["-c", "pass"],
    "`import typer`": ["-c", "import typer"],
    "`import prefect`": ["-c", "import prefect"],
    "`prefect-swarm --help`": ["-c", _MAIN, "--help"],
    "`prefect-swarm plan --plan FILE`": ["-c", _MAIN, "plan", "--plan", str(_PLAN)],
}


def run() -> str:
    """Run each command in turn and return the table."""
    with TemporaryDirectory() as home:
        environment = {**os.environ, "PREFECT_HOME": home}
        rounds = [
            [_seconds(arguments, environment) for arguments in COMMANDS.values()]
            for _ in range(ROUNDS + 1)
        ]
    # The first round fills the caches of the disk and of Python's byte code.
    best = [min(taken) for taken in zip(*rounds[1:], strict=True)]
    prefect = best[list(COMMANDS).index("`import prefect`")]
    lines = [
        "## Start-up",
        "",
        "How long does a user wait for a command that asks no model? Each command is a process of",
        f"its own. They take turns, and the quickest of {ROUNDS} runs counts.",
        "",
        "| Command | Seconds | ÷ `import prefect` |",
        "|---|---:|---:|",
    ]
    for name, seconds in zip(COMMANDS, best, strict=True):
        lines.append(f"| {name} | {seconds:.2f} | {seconds / prefect:.2f} |")
    return "\n".join(lines)


def _seconds(arguments: list[str], environment: dict[str, str]) -> float:
    started = perf_counter()
    subprocess.run(
        [sys.executable, *arguments], env=environment, check=True, stdout=subprocess.DEVNULL
    )
    return perf_counter() - started
