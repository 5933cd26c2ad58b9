"""Without llama.cpp the command does what needs no local model, and says what the rest needs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import swarm_script
from ready_scripts import run_script

from .conftest import EXAMPLES

SCRIPT = Path(swarm_script.__file__)
REMOTE = "openai:qwen@http://127.0.0.1:9/v1"
LOCAL = "  Type: pip install 'prefect-swarm[local]'"
DEMO = (
    "  Type: pip install 'prefect-swarm[demo]', or name another model: --model openai:NAME, "
    "or for all runs PREFECT_INTEGRATIONS_SWARM_MODEL=openai:NAME"
)

Without = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def command(swarm_home: Path) -> Without:
    """Run the command where there is no llama.cpp."""

    def call(*arguments: object) -> subprocess.CompletedProcess[str]:
        environment = os.environ
        return run_script(SCRIPT, *arguments, environment=environment, without=("llama_cpp",))

    return call


def test_all_that_is_not_the_engine_imports() -> None:
    names = (
        "",
        ".blocks",
        ".models.llama.model",
        ".cli.app",
        ".flows.swarm",
        ".tasks.planner.task",
    )
    code = "import sys; sys.modules['llama_cpp'] = None\n"
    code += "".join(f"import prefect_swarm{name}\n" for name in names)
    code += "from prefect_swarm import LlamaCppModel, swarm"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_there_is_help(command: Without) -> None:
    assert command("--help").returncode == 0


def test_a_plan_that_is_there_is_compiled(command: Without) -> None:
    done = command("plan", "--plan", EXAMPLES / "uneven.json")
    assert (done.returncode, done.stderr) == (0, "")
    assert "longest path" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "tier", "fix"),
    [
        (("plan", "Compare a and b"), "orchestrator", DEMO),
        (("plan", "Compare a and b", "--no-adapter"), "orchestrator", DEMO),
        (("run", "Compare a and b"), "worker", DEMO),
        (("run", "Compare a and b", "--model", "demo"), "worker", DEMO),
        (("run", "a", "--model", REMOTE, "--coder", "llamacpp:/mine.gguf"), "coder", LOCAL),
    ],
    ids=["plan", "plan without adapter", "run", "demo", "file"],
)
def test_naming_a_local_model_is_a_usage_error(
    arguments: tuple[str, ...], tier: str, fix: str, command: Without
) -> None:
    done = command(*arguments)
    error = [f"Error: Tier {tier}: Local models need llama.cpp.", fix]
    assert (done.returncode, done.stderr.splitlines()) == (2, error)


def test_training_is_a_usage_error(command: Without) -> None:
    done = command("train")
    assert (done.returncode, done.stderr.splitlines()) == (
        2,
        ["Error: Local models need llama.cpp.", DEMO],
    )


@pytest.mark.parametrize(
    ("model", "code", "status", "fix"),
    [("demo", 1, "fail", DEMO), (REMOTE, 0, "ok", "")],
    ids=["local", "remote"],
)
def test_the_doctor_fails_only_where_a_model_needs_it(
    model: str, code: int, status: str, fix: str, command: Without
) -> None:
    done = command("doctor", "--json", "--model", model)
    found = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
    engine = found["llama-cpp-python"]
    assert (engine["status"], engine["fix"]) == ("warn", LOCAL.strip())
    assert (done.returncode, found["model"]["status"]) == (code, status)
    assert found["model"]["fix"] == fix.strip()
