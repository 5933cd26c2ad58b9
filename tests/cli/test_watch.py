"""`prefect-swarm watch` beside a run of another process, and from what a server has of it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from uuid import UUID

import pytest
from flow_runs import UNEVEN, plan_of, run
from held_runs import held_run as script
from held_runs import started
from prefect.client.orchestration import get_client
from prefect.settings import get_current_settings
from prefect.states import Failed
from prefect_swarm.plan.task_ir import TaskIR
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.store.result import SwarmResult
from ready_scripts import ReadyScript
from scripted import Script, scripted

from .conftest import COMMAND, Invoke

pytestmark = pytest.mark.usefixtures("prefect_server")

WAITING_RUN = Path(__file__).parents[1] / "flows" / "waiting_run.py"
HOME = "PREFECT_INTEGRATIONS_SWARM_HOME"
PLAN = plan_of({"id": "S1"}, {"id": "S2", "depends_on": ["S1"]})


@pytest.fixture
def ended(swarm_home: Path) -> SwarmResult:
    with scripted(Script()):
        return run(plan_of(*UNEVEN), memory=False)


def stored(plan: TaskIR, folder: Path) -> Path:
    (path := folder / "plan.json").write_text(plan.model_dump_json(), "utf-8")
    return path


@contextmanager
def watching(name: str, *options: str, **variables: str) -> Generator[subprocess.Popen[str]]:
    """Watch a run in a process of its own; it is killed at the end, if it still watches."""
    process = subprocess.Popen(
        [*COMMAND, "watch", name, *options],
        env={**os.environ, **variables},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Only what a test means to send it reaches it.
        start_new_session=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def until(process: subprocess.Popen[str], text: str) -> str:
    """Read what a watch says on stderr up to the line that has a text; return that line."""
    assert process.stderr is not None
    lines: list[str] = []
    for line in process.stderr:
        lines.append(line)
        if text in line:
            return line
    raise AssertionError(f"it ended before it said {text!r}: {lines}")


def begun(process: ReadyScript, last: str) -> str:
    """Read what a run prints until that line, of which `RUN` is its id; return the id."""
    assert process.stdout is not None
    name = ""
    for line in process.stdout:
        kind, _, about = line.strip().partition(" ")
        name = about if kind == "began" else name
        if line.strip() == last.replace("RUN", name):
            return name
    raise AssertionError(f"it ended before it printed {last}")


def waiting_run(plan: TaskIR, folder: Path) -> AbstractContextManager[ReadyScript]:
    """Start a run whose plan has to be approved, in a process that stays until it is."""
    return started("start", folder / "calls", stored(plan, folder), script=WAITING_RUN)


def held_run(folder: Path) -> AbstractContextManager[ReadyScript]:
    """Start a run whose second step never gets an answer."""
    first = {"id": "S1", "prompt": "do: one"}
    second = {"id": "S2", "prompt": "do: two", "depends_on": ["S1"]}
    plan = plan_of(first, second, objective=script.OBJECTIVE)
    return started(stored(plan, folder), folder / "calls", "two")


def test_a_run_that_is_over_has_its_summary_at_once(ended: SwarmResult, invoke: Invoke) -> None:
    done = invoke("watch", ended.run_id)
    assert (done.exit_code, done.stderr) == (0, "")
    assert f"Run {ended.run_id} is completed." in done.stdout
    assert done.stdout == invoke("inspect", ended.run_id).stdout


def test_the_run_s_own_exit_code_is_given_where_it_is_asked_for(
    tmp_path: Path, invoke: Invoke
) -> None:
    plan = stored(plan_of({"id": "S1", "output": {"kind": "json"}}), tmp_path)
    with scripted(Script(lambda _: "no JSON")):
        failed = invoke("run", "--plan", plan, "--no-memory", "--json")
    assert failed.exit_code == 1
    name = json.loads(failed.stdout)["run_id"]
    assert invoke("watch", name).exit_code == 0
    assert invoke("watch", name, "--exit-code").exit_code == 1


def test_a_run_of_another_process_is_watched_to_its_end(
    swarm_home: Path, tmp_path: Path, invoke: Invoke
) -> None:
    with waiting_run(PLAN, tmp_path) as process:
        name = begun(process, "asked RUN")
        with watching(name, "--exit-code") as watch:
            until(watch, "Waiting for approval: The plan of 2 steps")
            until(watch, f"To answer: prefect-swarm approve {name}")
            assert invoke("approve", name).exit_code == 0
            until(watch, "plan is approved by command")
            until(watch, "S1 Reader finished in")
            until(watch, "S2 Reader finished in")
            out, _ = watch.communicate(timeout=60)
            assert watch.returncode == 0
    assert f"Run {name} is completed." in out


def test_a_run_that_was_left_until_a_person_answers_is_watched_on(
    swarm_home: Path, tmp_path: Path, invoke: Invoke
) -> None:
    with scripted(Script()):
        plan = stored(PLAN, tmp_path)
        left = invoke("run", "--plan", plan, "--no-memory", "--json", "--approve", "plan")
        name = json.loads(left.stdout)["run_id"]
        with watching(name) as watch:
            until(watch, "It was left until a person answers.")
            assert invoke("approve", name, "--resume").exit_code == 0
            until(watch, f"Run {name} goes on")
            out, _ = watch.communicate(timeout=60)
            assert watch.returncode == 0
    assert f"Run {name} is completed." in out


def test_ctrl_c_leaves_the_watch_and_never_the_run(
    swarm_home: Path, tmp_path: Path, invoke: Invoke
) -> None:
    with waiting_run(PLAN, tmp_path) as process:
        name = begun(process, "asked RUN")
        with watching(name) as watch:
            until(watch, "Waiting for approval")
            watch.send_signal(signal.SIGINT)
            _, words = watch.communicate(timeout=60)
            assert watch.returncode == 130
        assert f"Watch it again: prefect-swarm watch {name}" in words
        assert process.poll() is None
        invoke("approve", name)
        begun(process, f"finished {name}")
    assert RunFolder.find(name).result() is not None


def test_a_run_whose_process_is_killed_ends_the_watch(swarm_home: Path, tmp_path: Path) -> None:
    with held_run(tmp_path) as process:
        name = begun(process, "called two")
        with watching(name, "--exit-code", PREFECT_API_URL="") as watch:
            until(watch, "S2 Reader started")
            process.send_signal(signal.SIGKILL)
            process.wait()
            out, _ = watch.communicate(timeout=60)
            assert watch.returncode == 1
    assert "1 of 2 steps finished." in out
    assert f"prefect-swarm resume {name}" in out


def test_a_run_of_another_machine_is_watched_through_the_server(
    swarm_home: Path, tmp_path: Path
) -> None:
    api = get_current_settings().api.url
    assert api is not None
    elsewhere = {"PREFECT_API_URL": api, HOME: str(tmp_path / "elsewhere")}
    with held_run(tmp_path) as process:
        name = begun(process, "called two")
        with watching(name, "--exit-code", **elsewhere) as watch:
            until(watch, "Its folder isn't here")
            until(watch, "S1, Reader, attempt 1: Completed after")
            process.send_signal(signal.SIGKILL)
            process.wait()
            asyncio.run(fail_on_server(str(RunFolder.find(name).about().flow_run_id)))
            until(watch, "The flow run is Failed")
            out, _ = watch.communicate(timeout=60)
            assert watch.returncode == 1
    assert "the flow run's artifacts: http" in out


def test_a_run_whose_folder_comes_later_is_watched_there(swarm_home: Path, tmp_path: Path) -> None:
    api = get_current_settings().api.url
    assert api is not None
    (later := tmp_path / "later").mkdir()
    with held_run(tmp_path) as process:
        name = begun(process, "called two")
        with watching(name, "--exit-code", PREFECT_API_URL=api, **{HOME: str(later)}) as watch:
            until(watch, "Its folder isn't here")
            (later / "runs").symlink_to(swarm_home / "runs")
            until(watch, "S2 Reader started")
            watch.send_signal(signal.SIGINT)
            watch.communicate(timeout=60)


async def fail_on_server(flow_run_id: str) -> None:
    async with get_client() as client:
        await client.set_flow_run_state(UUID(flow_run_id), Failed(message="lost"), force=True)


@pytest.mark.parametrize("by", ["run_id", "flow_run_id"])
def test_a_flow_run_that_is_over_has_its_summary_at_once(
    by: str, ended: SwarmResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, invoke: Invoke
) -> None:
    monkeypatch.setenv(HOME, str(tmp_path / "elsewhere"))
    done = invoke("watch", getattr(ended, by))
    assert (done.exit_code, done.stderr) == (0, "")
    assert f"Flow run {ended.flow_run_id}: Completed · " in done.stdout
    assert "Its folder isn't here, and the answer, steps and tokens are in it." in done.stdout


def test_what_neither_folder_nor_server_has_is_refused(swarm_home: Path, invoke: Invoke) -> None:
    done = invoke("watch", "0123456789ab")
    assert done.exit_code == 2
    assert "No run '0123456789ab' is stored" in done.stderr
    assert "has no such flow run either" in done.stderr


def test_without_a_server_it_is_said_how_one_is_named(swarm_home: Path) -> None:
    with watching("0123456789ab") as watch:
        _, words = watch.communicate(timeout=60)
        assert watch.returncode == 2
    assert "For a run of another machine, name its Prefect server: PREFECT_API_URL=" in words
