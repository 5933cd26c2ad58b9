"""A program without a configured server gets a temporary one, which ends quietly and whole."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections import Counter
from pathlib import Path
from shutil import copyfile

import pytest

STEPS = 40
PLAN = {
    "objective": "Be polite",
    "agents": [{"name": "Greeter", "system_prompt": "You greet."}],
    "steps": [
        {"id": f"S{n}", "agent": "Greeter", "prompt": f"greet {n}"} for n in range(1, STEPS + 1)
    ],
}
RUN = """
import asyncio, sys
from pathlib import Path
from prefect import flow
from prefect_swarm import load_plan, swarm

async def run():
    plan = load_plan(Path(sys.argv[1]))
    return await swarm(plan.objective, plan=plan, model="test")
"""
ALONE = f"{RUN}\nprint(asyncio.run(run()).status)"
IN_A_FLOW = f"{RUN}\nprint(asyncio.run(flow(name='mine', persist_result=False)(run)()).status)"
COMMAND = "from prefect_swarm.cli import main; main()"


def ended(folder: Path, code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a program with the Prefect home of its own in this folder and no server."""
    plan = folder / "plan.json"
    plan.write_text(json.dumps(PLAN), "utf-8")
    variables = {
        **{name: value for name, value in os.environ.items() if name != "PREFECT_API_URL"},
        "PREFECT_HOME": str(folder / "home"),
        "PREFECT_INTEGRATIONS_SWARM_HOME": str(folder / "swarm"),
        "PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL": "INFO",
        "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120",
    }
    # As for a user; the tests' own settings switch it off.
    variables.pop("PREFECT_SERVER_ANALYTICS_ENABLED", None)
    program = [sys.executable, "-c", code, *arguments, str(plan)]
    done = subprocess.run(program, env=variables, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done


def states(folder: Path) -> Counter[str]:
    """The states of the swarm's task runs, as the database has them afterwards."""
    database = sqlite3.connect(folder / "home" / "prefect.db")
    query = (
        "SELECT t.state_name FROM task_run t JOIN flow_run f ON f.id = t.flow_run_id "
        "WHERE f.name = ?"
    )
    try:
        return Counter(name for (name,) in database.execute(query, ("Be polite",)))
    finally:
        database.close()


def check(done: subprocess.CompletedProcess[str], folder: Path) -> None:
    """Assert that a program said nothing of trouble, and that the server has heard all."""
    assert "ompleted" in done.stdout
    for trouble in ("Traceback", "ERROR", "WARNING", "telemetry"):
        assert trouble not in done.stderr, done.stderr
    assert set(states(folder)) == {"Completed"}
    assert sum(states(folder).values()) >= STEPS
    assert "telemetry" not in (folder / "swarm" / "server.log").read_text("utf-8")


@pytest.fixture
def folder(tmp_path: Path, new_database: Path) -> Path:
    """One whose Prefect home has a database, as at any start but the first."""
    (tmp_path / "home").mkdir()
    copyfile(new_database, tmp_path / "home" / "prefect.db")
    return tmp_path


@pytest.mark.slow
def test_a_command_says_nothing_at_the_end_and_loses_nothing(tmp_path: Path) -> None:
    done = ended(tmp_path, COMMAND, "run", "--model", "test", "--plan")
    check(done, tmp_path)


@pytest.mark.slow
def test_from_python_it_says_nothing_at_the_end_and_loses_nothing(folder: Path) -> None:
    check(ended(folder, ALONE), folder)


@pytest.mark.slow
def test_in_a_flow_on_prefects_own_server_it_loses_nothing(folder: Path) -> None:
    done = ended(folder, IN_A_FLOW)
    assert "completed" in done.stdout
    assert "task_run_recorder" not in done.stderr
    assert set(states(folder)) == {"Completed"}
    assert sum(states(folder).values()) >= STEPS
