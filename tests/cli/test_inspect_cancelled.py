"""A run that was cancelled shows what it had tried and decided by then."""

from __future__ import annotations

import asyncio
import html
import json
import re
from typing import Any

import pytest
from flow_runs import pages, plan_of, run
from prefect.exceptions import CancelledRun
from prefect_swarm.errors import Category
from prefect_swarm.flows.control import RunControl, controlled
from prefect_swarm.flows.resume import resume
from prefect_swarm.models.resolve import override_models
from prefect_swarm.settings import home
from prefect_swarm.store.failure_policy import Policy
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.store.result import RunFailedError, SwarmResult
from prefect_swarm.store.step import StepState
from pydantic_ai.messages import ModelResponse, TextPart
from pydantic_ai.models.function import FunctionModel
from scripted import Script, scripted

from .conftest import Invoke

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home")

NUMBER: dict[str, Any] = {"type": "object", "properties": {"n": {"type": "integer"}}}
S1: dict[str, Any] = {"id": "S1", "output": {"kind": "json", "schema": NUMBER}}
ONCE_MORE = Policy.model_validate({"rules": {"SCHEMA": ["RETRY"]}})


def cancelled() -> RunFolder:
    """A run that was cancelled in its step's second attempt, with another step yet to come."""
    control = RunControl()
    asked: list[object] = []

    async def model(messages: Any, _: Any) -> ModelResponse:
        asked.append(messages)
        if len(asked) == 2:
            control.cancel.set()
            await asyncio.Event().wait()
        return ModelResponse(parts=[TextPart('{"n": "one"}')])

    plan = plan_of(S1, {"id": "S2", "depends_on": ["S1"]})
    with (
        override_models(worker=FunctionModel(model)),
        controlled(control),
        pytest.raises(CancelledRun),
    ):
        run(plan, policy=ONCE_MORE)
    (folder,) = (home() / "runs").iterdir()
    return RunFolder.find(folder.name)


def test_a_cancelled_runs_page_has_its_attempts_and_decisions() -> None:
    left = cancelled()
    page = html.unescape(pages(left.about().flow_run_id)["swarm-timeline"])
    assert "**unfinished** · 2 steps: 2 cancelled" in page
    assert (
        f"The run was cancelled on request. Resume with: prefect-swarm resume {left.run_id}" in page
    )
    assert (
        "- **S1** ran once and was cancelled: attempt 1 (Reader on worker) failed by SCHEMA, "
        "so RETRY on worker. cancelled"
    ) in page
    assert "- **S2** did not run. cancelled" in page
    assert re.search(r"\| SCHEMA \| \[S1\]\S+ \| 1 \| RETRY on worker \|", page)
    assert "- **S1.1** Reader on worker" in page
    assert "SCHEMA: RETRY, since SCHEMA failure 1 on tier worker; led to no further attempt" in page
    assert re.search(r"\| failed \| \[S1\]\S+ \| 1 \| schema \|", page)
    assert left.result() is None


def test_inspect_shows_what_a_cancelled_run_had_tried(invoke: Invoke) -> None:
    left = cancelled()
    shown = invoke("inspect", left.run_id).stdout
    (row,) = [line for line in shown.splitlines() if line.startswith("cancelled  S1  ")]
    assert row.split()[:4] == ["cancelled", "S1", "Reader", "1"]
    assert "0 of 2 steps finished." in shown
    assert f"Look closer: prefect-swarm inspect {left.run_id} --step S1" in shown
    lines = invoke("inspect", left.run_id, "--step", "S1").stdout.splitlines()
    assert "S1 Reader: cancelled" in lines
    assert "Attempt 1 · Reader" in lines
    assert any(
        line.startswith("failed   schema") and "$.n: 'one' is not of type 'integer'" in line
        for line in lines
    )
    assert any(line.startswith("decision: RETRY on worker by SCHEMA: RETRY") for line in lines)
    assert "It has not finished." in lines


def test_inspect_as_json_has_the_attempts_of_a_cancelled_run(invoke: Invoke) -> None:
    left = cancelled()
    shown = json.loads(invoke("inspect", left.run_id, "--json").stdout)
    assert shown["status"] == "unfinished"
    (step,) = shown["steps"]
    assert [attempt["decision"]["action"] for attempt in step["attempts"]] == ["RETRY"]
    assert json.loads(invoke("inspect", left.run_id, "--step", "S1", "--json").stdout) == {
        **step,
        "output": None,
        "files": {},
    }


def test_a_step_that_was_not_begun_says_so(invoke: Invoke) -> None:
    lines = invoke("inspect", cancelled().run_id, "--step", "S2").stdout.splitlines()
    assert "do S2" in lines
    assert "It has not finished." in lines


def _failed(plan: Any) -> SwarmResult:
    with scripted(Script(lambda _: '{"n": "one"}')), pytest.raises(RunFailedError) as failure:
        run(plan, policy=ONCE_MORE)
    assert failure.value.result is not None
    return failure.value.result


def test_what_is_on_disk_of_an_ended_run_is_what_its_result_has() -> None:
    result = _failed(plan_of(S1, {"id": "S2", "depends_on": ["S1"]}))
    first, second = RunFolder.find(result.run_id).steps()
    assert first.attempts == result.steps[0].attempts
    assert (first.status, second.status) == ("failed", "skipped")
    assert (second.category, second.attempts) == (Category.UPSTREAM, ())


def test_a_replacement_is_on_disk_before_its_attempt_ends() -> None:
    seen: list[tuple[StepState, ...]] = []

    def reply(prompt: str) -> str:
        if "The failed step" in prompt:
            return "1. Counter: Count to one"
        if "Count to one" not in prompt:
            return '{"n": "one"}'
        (folder,) = (home() / "runs").iterdir()
        seen.append(RunFolder.find(folder.name).steps())
        return '{"n": 1}'

    with scripted(Script(reply)):
        run(plan_of(S1), policy=Policy.model_validate({"rules": {"SCHEMA": ["REPLAN"]}}))
    (step,) = seen[0]
    assert (step.status, len(step.attempts)) == ("unfinished", 1)
    assert (step.agent, step.prompt, step.change) == ("Counter", "Count to one", "replaced")
    assert step.attempts[0].decision is not None
    assert step.attempts[0].decision.outcome == "Counter: Count to one"


def test_steps_that_are_begun_again_leave_no_trail_of_before() -> None:
    result = _failed(plan_of(S1))
    stored = RunFolder.find(result.run_id)
    stored.begin_again(result, {"S1"})
    assert stored.steps() == ()


def test_a_damaged_trail_is_named_and_the_advice_mends_it(invoke: Invoke) -> None:
    left = cancelled()
    left.write("steps/S1.json", "{")
    result = invoke("inspect", left.run_id)
    assert result.exit_code == 2
    assert f"{left.folder / 'steps/S1.json'} is damaged" in result.stderr
    assert f"prefect-swarm resume {left.run_id}" in result.stderr
    with scripted(Script(lambda _: '{"n": 1}')):
        assert asyncio.run(resume(left.run_id)).status == "completed"
    assert invoke("inspect", left.run_id).exit_code == 0
