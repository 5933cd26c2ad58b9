"""A run that ends in the middle of its instances: what is done stays, and the rest alone is done.

Its process is killed, it is cancelled, its machine is lost, or its time is over.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from flow_runs import run
from held_runs import cancel_on_server, flow_run_of, heard, held_run, started
from prefect.exceptions import CancelledRun, Pause
from prefect.states import AwaitingRetry
from prefect_swarm.cli.app import app
from prefect_swarm.errors import Category
from prefect_swarm.flows.control import RunControl, controlled
from prefect_swarm.flows.resume import resume
from prefect_swarm.metrics.clock import RunClock
from prefect_swarm.plan.task_ir import parse_plan
from prefect_swarm.store.events import RunEvent
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.store.result import SwarmResult
from ready_scripts import ReadyScript
from scripted import Script, scripted
from two_machines import Machines, ask_server, execute, scheduled
from typer.testing import CliRunner

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home")

NAMES = [*"abcde"]
HELD = "c"
"""The item that is being done when the run ends."""
DONE = {f"S1[{number}]" for number, name in enumerate(NAMES, 1) if name != HELD}
PLAN: dict[str, Any] = {
    "objective": held_run.OBJECTIVE,
    "agents": [{"name": "Reader", "system_prompt": "You read."}],
    "steps": [
        {"id": "S1", "agent": "Reader", "prompt": "do: {item}", "for_each": {"items": NAMES}},
        {"id": "S2", "collect": "list", "depends_on": ["S1"]},
    ],
    "final_step": "S2",
}


def statuses(result: SwarmResult) -> dict[str, str]:
    return {step.id: step.status for step in result.steps}


def assert_complete(result: SwarmResult) -> None:
    """Each instance is in the result, and in the answer, once and in its place."""
    assert result.status == "completed"
    ids = ["S1", *(f"S1[{number}]" for number, _ in enumerate(NAMES, 1)), "S2"]
    assert statuses(result) == dict.fromkeys(ids, "succeeded")
    assert [step.id for step in result.steps] == ids
    assert json.loads(result.answer) == [f"done: {name}" for name in NAMES]


# --- processes ----------------------------------------------------------------------------------


def _killed(process: ReadyScript, flow_run_id: str) -> str:
    process.kill()
    return "Running"


def _terminated(process: ReadyScript, flow_run_id: str) -> str:
    process.terminate()
    return "Crashed"


def _cancelled(process: ReadyScript, flow_run_id: str) -> str:
    asyncio.run(cancel_on_server(flow_run_id))
    return "Cancelled"


@pytest.mark.slow
@pytest.mark.parametrize("end", [_killed, _terminated, _cancelled])
def test_a_process_that_ends_among_the_instances_leaves_one_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: Callable[[ReadyScript, str], str]
) -> None:
    plan, calls = tmp_path / "plan.json", tmp_path / "calls"
    plan.write_text(json.dumps(PLAN), encoding="utf-8")
    monkeypatch.setenv("PREFECT_INTEGRATIONS_SWARM_CANCEL_POLL_S", "0.05")
    with started(plan, calls, HELD) as process:
        name = heard(process, f"called {HELD}", *(f"succeeded {each}" for each in DONE))
        flow_run_id = RunFolder.find(name).about().flow_run_id
        state = end(process, flow_run_id)
        process.communicate(timeout=60)
    assert flow_run_of(flow_run_id).state_name == state
    assert {*RunFolder.find(name).finished_steps()} == DONE
    shown = CliRunner().invoke(app, ["inspect", name, "--step", "S1[4]"]).stdout
    assert "done: d" in shown

    assert_complete(asyncio.run(held_run.go_on(name, calls)))
    made = Counter(calls.read_text("utf-8").splitlines())
    assert made == {each: 2 if each == HELD else 1 for each in NAMES}


@pytest.mark.slow
def test_what_was_done_within_a_round_of_an_instance_is_not_done_again(tmp_path: Path) -> None:
    inner = [
        {"id": "S1", "agent": "Reader", "prompt": "do: draft {item} {round}"},
        {
            "id": "S2",
            "agent": "Reader",
            "prompt": "do: mend {item} {round}",
            "depends_on": ["S1"],
        },
    ]
    step = {
        "id": "S1",
        "for_each": {"items": ["a", "b"]},
        "repeat": {"until": {"matches": "2"}},
        "plan": {"steps": inner},
    }
    plan, calls = tmp_path / "plan.json", tmp_path / "calls"
    steps = [step, PLAN["steps"][1]]
    plan.write_text(json.dumps({**PLAN, "steps": steps}), encoding="utf-8")
    with started(plan, calls, "mend b 2") as process:
        name = heard(process, "called mend b 2", "succeeded S1[1]")
        process.terminate()
        process.communicate(timeout=60)

    result = asyncio.run(held_run.go_on(name, calls))
    assert result.status == "completed"
    assert json.loads(result.answer) == ["done: mend a 2", "done: mend b 2"]
    ids = [step.id for step in result.steps]
    assert len(set(ids)) == len(ids) == 16
    made = Counter(calls.read_text("utf-8").splitlines())
    names = [f"{do} {item} {n}" for do in ("draft", "mend") for item in "ab" for n in (1, 2)]
    assert made == {each: 2 if each == "mend b 2" else 1 for each in names}


# --- machines -----------------------------------------------------------------------------------


def answer(prompt: str) -> str:
    return f"done: {prompt[-1]}"


def asked(script: Script) -> list[str]:
    """Return the items that were asked for, in their order."""
    return sorted(prompt[-1] for prompt in script.prompts)


def test_a_run_that_was_lost_among_its_instances_is_handed_back_and_does_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(event: RunEvent) -> None:
        if (event.kind, event.step) == ("started", "S1[3]"):
            first.release.clear()
            control.cancel.set()

    def put_back() -> None:
        # As the automation does that puts a crashed run back.
        state = AwaitingRetry()
        ask_server(lambda client: client.set_flow_run_state(lost.id, state, force=True))

    machines = Machines(tmp_path, monkeypatch)
    try:
        machines.be("oak")
        options = {"memory": False, "max_concurrency": 1, "model": "test"}
        given = {"objective": PLAN["objective"], "plan": PLAN, "options": options}
        lost = scheduled(given)
        control, first = RunControl(stop), Script(answer, together=2)
        first.release.set()
        with scripted(first), controlled(control), pytest.raises(CancelledRun):
            execute(lost.id)
        put_back()
        machines.be("elm")
        with scripted(Script(answer)) as script, pytest.raises(Pause):
            execute(lost.id)
        assert script.prompts == []
        put_back()
        machines.be("oak")
        with scripted(Script(answer)) as script:
            assert_complete(execute(lost.id))
        assert asked(script) == ["c", "d", "e"]
    finally:
        machines.leave()


# --- time ---------------------------------------------------------------------------------------

LIMIT_S = 3600.0


class Clock:
    """The clock of runs, which can be set ahead."""

    def __init__(self) -> None:
        self.by = 0.0

    def __call__(self) -> float:
        return time.monotonic() + self.by


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found, begin = Clock(), RunClock.begin

    def begin_ahead(not_before: float = 0.0) -> RunClock:
        return begin(not_before, found)

    monkeypatch.setattr(RunClock, "begin", begin_ahead)
    return found


def test_a_runs_time_that_is_over_among_the_instances_stops_those_that_were_not_begun(
    clock: Clock,
) -> None:
    def slow(prompt: str) -> str:
        clock.by = LIMIT_S if prompt[-1] == HELD else 0.0
        return answer(prompt)

    bounds = {"memory": False, "max_concurrency": 1, "timeout_s": LIMIT_S}
    with scripted(Script(slow)) as script:
        result = run(parse_plan(PLAN), **bounds)
    assert asked(script) == ["a", "b", "c"]
    assert result.status == "partial"
    assert statuses(result) == {
        "S1": "failed",
        **dict.fromkeys(["S1[1]", "S1[2]", "S1[3]"], "succeeded"),
        **dict.fromkeys(["S1[4]", "S1[5]"], "failed"),
        "S2": "skipped",
    }
    left = [step for step in result.steps if step.id in ("S1[4]", "S1[5]")]
    assert {step.category for step in left} == {Category.BUDGET}
    assert f"prefect-swarm resume {result.run_id} --timeout-s N" in result.problem
    shown = CliRunner().invoke(app, ["inspect", result.run_id]).stdout
    assert "3 of 5 instances" in shown

    clock.by = 0.0
    with scripted(Script(answer)) as script:
        again = asyncio.run(resume(result.run_id, changes={"timeout_s": 3 * LIMIT_S}))
    assert asked(script) == ["d", "e"]
    assert_complete(again)


def test_an_instance_that_the_end_of_the_runs_time_cuts_short_is_done_with_more_time(
    clock: Clock,
) -> None:
    def reply(prompt: str) -> str:
        if prompt[-1] == "b":
            # The next one isn't answered, and little time is left for it.
            clock.by = LIMIT_S - 3.0
            script.release.clear()
        return answer(prompt)

    script = Script(reply, together=2)
    script.release.set()
    bounds = {"memory": False, "max_concurrency": 1, "timeout_s": LIMIT_S}
    with scripted(script):
        result = run(parse_plan(PLAN), **bounds)
    assert asked(script) == ["a", "b", "c"]
    (cut,) = (step for step in result.steps if step.id == "S1[3]")
    assert (cut.status, cut.category) == ("failed", Category.BUDGET)
    assert "The run's time ended" in cut.reason

    clock.by = 0.0
    with scripted(Script(answer)) as script:
        again = asyncio.run(resume(result.run_id, changes={"timeout_s": 3 * LIMIT_S}))
    assert asked(script) == ["c", "d", "e"]
    assert_complete(again)


# --- tokens -------------------------------------------------------------------------------------


@pytest.mark.parametrize("more", [{}, {"repeat": {"until": {"matches": "done"}}}])
def test_what_was_done_is_shown_though_the_rest_can_not_be_paid_the_next_time_either(
    more: dict[str, Any],
) -> None:
    asks = " ".join(f"consider{n}" for n in range(40))
    first = {**PLAN["steps"][0], "prompt": f"{asks} {{item}}", **more}
    plan = parse_plan({**PLAN, "steps": [first, PLAN["steps"][1]]})
    words = " ".join(f"word{n}" for n in range(160))
    bounds = {"memory": False, "max_concurrency": 1, "max_tokens": 800, "max_output_tokens": 200}

    def long(prompt: str) -> str:
        return f"{answer(prompt)} {words}"

    with scripted(Script(long)) as script:
        result = run(plan, **bounds)
        done = {name: status for name, status in statuses(result).items() if name in DONE}
        assert {*done.values()} == {"succeeded", "failed"}
        before = len(script.prompts)
        again = asyncio.run(resume(result.run_id, retry_failed=True))
        assert len(script.prompts) == before
    assert statuses(again) == statuses(result)
    assert again.answer == result.answer
