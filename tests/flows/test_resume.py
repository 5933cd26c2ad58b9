"""A run that was killed or cancelled goes on where it ended, and does no finished step again."""

from __future__ import annotations

import asyncio
import html
import json
import os
import signal
from collections import Counter
from collections.abc import Sequence
from contextvars import Context
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from flow_runs import pages
from held_runs import flow_run_of, heard, held_run, started
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterName
from prefect.client.schemas.objects import FlowRun
from prefect.exceptions import CancelledRun
from prefect.settings import PREFECT_API_URL, get_current_settings, temporary_settings
from prefect.states import AwaitingRetry
from prefect_swarm.cli.app import app
from prefect_swarm.errors import RunAliveError, RunCancelledError, RunNotFoundError, ServerError
from prefect_swarm.flows.control import RunControl, controlled
from prefect_swarm.flows.resume import resume
from prefect_swarm.plan.task_ir import load_plan
from prefect_swarm.settings import home
from prefect_swarm.store.events import RunEvent
from prefect_swarm.store.folder import RunFolder
from typer.testing import CliRunner

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home")

PLAN: dict[str, Any] = {
    "objective": held_run.OBJECTIVE,
    "agents": [{"name": "Reader", "system_prompt": "You read."}],
    "steps": [
        {"id": "S1", "agent": "Reader", "prompt": "do: one"},
        {
            "id": "S2",
            "agent": "Reader",
            "prompt": "do: two fails once",
            "output": {"kind": "json", "schema": {"type": "object"}},
        },
        {"id": "S3", "agent": "Reader", "prompt": "do: three", "depends_on": ["S1"]},
        {
            "id": "S4",
            "agent": "Reader",
            "prompt": "do: four fails once",
            "output": {"kind": "json"},
            "timeout_s": 300,
        },
        {"id": "S5", "agent": "Reader", "prompt": "do: five", "depends_on": ["S2", "S3", "S4"]},
        {"id": "S6", "agent": "Reader", "prompt": "do: six", "depends_on": ["S1", "S2"]},
    ],
}
"""S2 fails, then succeeds; of S3 the first and of S4 the second attempt can be held."""


@pytest.fixture
def calls(tmp_path: Path) -> Path:
    return tmp_path / "calls"


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(PLAN), encoding="utf-8")
    return path


def _made(calls: Path) -> Counter[str]:
    return Counter(calls.read_text(encoding="utf-8").splitlines())


def _killed(arguments: Sequence[object], *until: str) -> str:
    """Start a run, and kill it when it has printed all of that; return the run's id."""
    with started(*arguments) as process:
        return heard(process, *until)


@pytest.mark.slow
def test_killed_among_its_steps_it_does_the_rest(calls: Path, plan: Path) -> None:
    held = ("three", "four fails once, again")
    name = _killed(
        (plan, calls, *held),
        "succeeded S6",
        "called three",
        "called four fails once, again",
    )
    assert RunFolder.find(name).finished_steps() == ("S1", "S2", "S6")

    result = asyncio.run(held_run.go_on(name, calls))

    assert result.status == "completed"
    assert _made(calls) == {
        "one": 1,
        "two fails once": 1,
        "two fails once, again": 1,
        "six": 1,
        "four fails once": 1,
        "three": 2,
        "four fails once, again": 2,
        "five": 1,
        "answer": 1,
    }
    assert [len(step.attempts) for step in result.steps] == [1, 2, 1, 2, 1, 1]
    second = result.steps[1]
    assert second.attempts[0].category == "FORMAT"
    assert second.attempts[0].decision is not None
    assert second.attempts[0].decision.action == "RETRY"
    assert result.answer == "done: answer"
    assert result.run_id == name
    assert RunFolder.find(name).result() == result


@pytest.mark.slow
def test_what_a_killed_run_had_tried_is_on_disk_and_inspect_shows_it(
    calls: Path, plan: Path
) -> None:
    name = _killed((plan, calls, "three"), "called three", "succeeded S4")
    steps = {step.id: step for step in RunFolder.find(name).steps()}
    assert {"S1", "S2", "S4"} <= set(steps)
    assert "S3" not in steps, "its first attempt had not ended"
    first, second = steps["S4"].attempts
    assert (first.category, second.category) == ("FORMAT", None)
    assert first.decision is not None
    assert first.decision.action == "RETRY"
    shown = CliRunner().invoke(app, ["inspect", name, "--step", "S4"]).stdout
    assert "S4 Reader: succeeded" in shown
    assert "decision: RETRY on worker by FORMAT: RETRY: FORMAT failure 1 on tier worker" in shown


@pytest.mark.slow
def test_a_flow_run_that_is_sent_sigterm_leaves_its_timeline(calls: Path, plan: Path) -> None:
    with started(plan, calls, "three") as process:
        name = heard(process, "called three", "succeeded S4")
        process.terminate()
        process.communicate(timeout=120)
    run = RunFolder.find(name)
    page = html.unescape(pages(run.about().flow_run_id)["swarm-timeline"])
    assert "**unfinished** · " in page
    assert "- **S4** ran 2 times and succeeded: attempt 1 (Reader on worker) failed" in page


@pytest.mark.slow
@pytest.mark.parametrize("where", ["SIGTERM six", "SIGTERM after six"], ids=["step", "callback"])
def test_sigterm_ends_a_run_wherever_it_is_raised(calls: Path, plan: Path, where: str) -> None:
    with started(plan, calls, "three", where) as process:
        name = heard(process, "called three", "called six")
        process.communicate(timeout=60)
    assert process.returncode == -signal.SIGTERM
    flow_run_id = RunFolder.find(name).about().flow_run_id
    assert flow_run_of(flow_run_id).state_name == "Crashed"
    assert "**unfinished** · " in html.unescape(pages(flow_run_id)["swarm-timeline"])


@pytest.mark.slow
def test_killed_while_it_plans_it_plans_again(calls: Path) -> None:
    name = _killed(("-", calls, "plan"), "called plan")
    result = asyncio.run(held_run.go_on(name, calls))
    assert result.status == "completed"
    made = _made(calls)
    assert made.pop("plan") > 1
    assert made == {"one": 1, "two": 1, "answer": 1}


@pytest.mark.slow
def test_killed_while_it_answers_it_only_answers(calls: Path) -> None:
    name = _killed(("-", calls, "answer"), "called answer")
    plans = _made(calls)["plan"]
    result = asyncio.run(held_run.go_on(name, calls))
    assert result.status == "completed"
    assert _made(calls) == {"plan": plans, "one": 1, "two": 1, "answer": 2}

    assert asyncio.run(held_run.go_on(result.flow_run_id, calls)) == result
    assert _made(calls)["answer"] == 2, "a completed run is only read"


@pytest.mark.slow
def test_a_killed_batch_goes_on_at_its_line(calls: Path, tmp_path: Path) -> None:
    lines = tmp_path / "lines.jsonl"
    steps = PLAN["steps"]
    lines.write_text(
        "\n".join(json.dumps({**PLAN, "steps": some}) for some in (steps[:1], [steps[0], steps[2]]))
    )
    _killed((lines, calls, "three"), "called three")

    flow_run = asyncio.run(_crash(f"batch {lines}"))
    summary = asyncio.run(held_run.go_on_with_batch(flow_run, calls))

    assert (summary.lines, summary.completed) == (2, 2)
    assert _made(calls) == {"one": 2, "three": 2}
    assert len(list((home() / "runs").iterdir())) == 2


async def _crash(name: str) -> FlowRun:
    """Put a flow run into the state that an automation puts a crashed one into."""
    async with get_client() as client:
        named = FlowRunFilter(name=FlowRunFilterName(any_=[name]))
        (found,) = await client.read_flow_runs(flow_run_filter=named)
        await client.set_flow_run_state(found.id, AwaitingRetry(), force=True)
        return await client.read_flow_run(found.id)


@pytest.mark.slow
def test_a_run_that_is_alive_is_not_run_twice(calls: Path) -> None:
    with started("-", calls, "plan") as process:
        name = heard(process, "called plan")
        with pytest.raises(RunAliveError, match=f"process {process.pid}"):
            asyncio.run(resume(name))


def test_a_cancelled_run_goes_on(calls: Path, plan: Path) -> None:
    control = _cancelling("succeeded", "S6")
    with controlled(control), pytest.raises(CancelledRun):
        asyncio.run(held_run.run(load_plan(plan), calls, {"three"}))
    (folder,) = (home() / "runs").iterdir()

    with pytest.raises(RunCancelledError, match=folder.name):
        asyncio.run(held_run.go_on(folder.name, calls, _cancelling("started", "S3")))
    result = asyncio.run(held_run.go_on(folder.name, calls))

    assert result.status == "completed"
    once = {"one", "two fails once", "two fails once, again", "six", "five", "answer"}
    assert {name for name, times in _made(calls).items() if times == 1} >= once


def _cancelling(kind: str, step: str) -> RunControl:
    """Cancel a run as soon as that is said of that step."""

    def handle(event: RunEvent) -> None:
        if (event.kind, event.step) == (kind, step):
            control.cancel.set()

    control = RunControl(listener=handle)
    return control


def test_an_unknown_run_is_not_found() -> None:
    with pytest.raises(RunNotFoundError, match="'nonesuch'"):
        asyncio.run(resume("nonesuch"))


def test_a_flow_run_of_another_server_is_not_found() -> None:
    run = RunFolder.of(str(uuid4()))
    run.write("run.json", {"flow_run_id": str(uuid4()), "objective": "x"})
    api = get_current_settings().api.url
    with pytest.raises(RunNotFoundError, match=f"server at {api}"):
        asyncio.run(resume(run.run_id))


def test_a_server_that_is_not_there_is_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    run = RunFolder.of(str(uuid4()))
    run.write("run.json", {"flow_run_id": str(uuid4()), "objective": "x"})
    with (
        temporary_settings({PREFECT_API_URL: "http://127.0.0.1:9/api"}),
        pytest.raises(ServerError, match=r"server at http://127\.0\.0\.1:9/api"),
    ):
        asyncio.run(resume(run.run_id))


def test_the_lock_goes_with_its_holder(swarm_home: Path) -> None:
    run = RunFolder(swarm_home / "runs" / "0123abcd")
    with run.exclusive():
        with run.exclusive():
            assert (run.folder / "lock").read_text() == str(os.getpid())
        with pytest.raises(RunAliveError, match="0123abcd"):
            Context().run(_hold, run)
    Context().run(_hold, run)


def _hold(run: RunFolder) -> None:
    with run.exclusive():
        pass
