"""The deployments of `prefect.yaml` on the tests' server, and a worker that runs them."""

from __future__ import annotations

import asyncio
import os
from contextlib import chdir
from pathlib import Path
from typing import Any
from uuid import UUID

from prefect.deployments import run_deployment
from prefect.settings import get_current_settings
from prefect_swarm.flows.automations import automation_file, automations_for
from ready_scripts import run_script

ROOT = Path(__file__).parents[2]
WITHIN_S = 10
"""The shortest time that Prefect lets an automation wait."""
SHORTER = {30: WITHIN_S, 90: WITHIN_S, 300: 8 * WITHIN_S, 86400: 86400}
"""What stands in place of their seconds; a busy machine takes long to start a process."""


def prefect_command(*arguments: str) -> str:
    """Run a command of Prefect's in the repository, as a person would, and return what it says."""
    api = get_current_settings().api.url
    assert api is not None
    environment = {**os.environ, "PREFECT_API_URL": api, "COLUMNS": "400"}
    script = Path(__file__).with_name("prefect_script.py")
    with chdir(ROOT):
        done = run_script(script, "--no-prompt", *arguments, environment=environment, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def deploy_all() -> None:
    prefect_command("work-pool", "create", "swarm", "--type", "process", "--overwrite")
    prefect_command("deploy", "--all")


def run_worker() -> None:
    """Let a worker run what is due; it ends by itself."""
    prefect_command("worker", "start", "--pool", "swarm", "--run-once")


def start_deployment(
    deployment: str, parameters: dict[str, Any], job: dict[str, Any] | None = None
) -> UUID:
    """Create a flow run that a worker will run, and return its id.

    Args:
        deployment: Its name.
        parameters: The flow run's.
        job: Variables of the process, in place of the work pool's.
    """

    async def start() -> UUID:
        run = await run_deployment(  # pyright: ignore
            deployment, parameters=parameters, timeout=0, job_variables=job
        )
        return run.id

    return asyncio.run(start())


def automations(folder: Path) -> Path:
    """Write those that need no target, with shorter times."""
    made = automations_for((), None, None)
    for each in made:
        each["trigger"]["within"] = SHORTER[each["trigger"]["within"]]
    (path := folder / "automations.yaml").write_text(automation_file(made), "utf-8")
    return path
