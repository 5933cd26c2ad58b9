"""The whole command in a process of its own: embedded model, temporary server, Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from prefect_swarm.store.result import SwarmResult

from .conftest import COMMAND, EXAMPLES

pytestmark = [pytest.mark.model, pytest.mark.slow, pytest.mark.usefixtures("new_database")]

InProcess = Callable[..., subprocess.CompletedProcess[str]]
UNEVEN = EXAMPLES / "uneven.json"
SHORT = ("--max-output-tokens", "16")


def overlap(result: SwarmResult) -> bool:
    spans = [(a.started_at, a.ended_at) for step in result.steps for a in step.attempts]
    return any(
        span is not other and span[0] <= other[0] < span[1] for span in spans for other in spans
    )


def test_a_plan_runs_on_the_embedded_model_and_steps_overlap(
    in_process_of_its_own: InProcess,
) -> None:
    done = in_process_of_its_own("run", "--plan", UNEVEN, *SHORT, "--json")
    assert done.returncode == 0, done.stderr
    result = SwarmResult.model_validate_json(done.stdout)
    assert result.status == "completed"
    assert overlap(result)
    first, *others = done.stderr.splitlines()
    assert first.startswith("Starting a temporary Prefect server")
    loading, loaded = [line for line in others if not line.startswith("  ")]
    assert loading.startswith("Loading the model SmolLM2-135M")
    assert loaded.startswith("Loaded the model SmolLM2-135M")


def test_ctrl_c_cancels_cleanly_and_the_run_can_be_resumed(
    swarm_home: Path, in_process_of_its_own: InProcess
) -> None:
    run_id = interrupted_run(os.environ)
    unfinished = in_process_of_its_own("inspect", run_id)
    assert "The run has not ended." in unfinished.stdout
    resumed = in_process_of_its_own("resume", run_id, "--json")
    assert resumed.returncode == 0, resumed.stderr
    result = SwarmResult.model_validate_json(resumed.stdout)
    assert (result.run_id, result.status) == (run_id, "completed")


def interrupted_run(environment: os._Environ[str]) -> str:
    """Run the example, and press Ctrl-C as a terminal does it: the whole group gets the signal."""
    command = [*COMMAND, "run", "--plan", str(UNEVEN), *SHORT]
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**environment},
    )
    with process:
        assert process.stderr is not None
        heard: list[str] = []
        for line in process.stderr:
            heard.append(line)
            if "S1 Historian started" in line:
                os.killpg(process.pid, signal.SIGINT)
    assert process.returncode == 130, "".join(heard)
    prefix = "Cancelled. Resume with: prefect-swarm resume "
    assert heard[-1].startswith(prefix), "".join(heard)
    assert "Traceback" not in "".join(heard)
    return heard[-1].removeprefix(prefix).strip()
