"""A step that was replaced or given to somebody else is shown as it became, and as it was."""

from __future__ import annotations

import html
import json
import re
from typing import Any

import pytest
from flow_runs import pages, plan_of, run
from prefect_swarm.store.failure_policy import Delegate, Policy
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.store.result import SwarmResult
from prefect_swarm.store.step import StepState
from scripted import Script, scripted

from .conftest import Invoke

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home")

NUMBER: dict[str, Any] = {"type": "object", "properties": {"n": {"type": "integer"}}}
WRONG, RIGHT = '{"n": "one"}', '{"n": 1}'
CLERK = Delegate(name="Number Clerk", system_prompt="You know numbers.")


def run_with_decisions(*actions: str) -> SwarmResult:
    """A run of one step that is answered rightly after these actions, each taken once."""
    answers = iter([*(WRONG for _ in actions), RIGHT])

    def reply(prompt: str) -> str:
        return "1. Counter: Count to one" if "The failed step" in prompt else next(answers)

    table = {"rules": {"SCHEMA": list(actions)}, "delegates": {"json": CLERK}, "replans": 1}
    plan = plan_of({"id": "S1", "output": {"kind": "json", "schema": NUMBER}})
    with scripted(Script(reply)):
        return run(plan, policy=Policy.model_validate(table))


def rows_of(text: str) -> list[str]:
    """The rows of S1, without the places that links lead to."""
    lines = [re.sub(r"\[(S\d)\]\([^)]*\)", r"\1", line) for line in text.splitlines()]
    return [line for line in lines if re.match(r"(\| )?\w+ +(\| )?S1 ", line)]


def test_a_replaced_step_is_shown_as_its_replacement(invoke: Invoke) -> None:
    result = run_with_decisions("REPLAN")
    page = html.unescape(pages(result.flow_run_id)["swarm-plan"])
    (shown,) = rows_of(page)
    assert shown.startswith("| succeeded | S1 | Counter | 2 | ")
    assert "| replaced: Count to one (it was Reader: do S1) |" in shown
    (row,) = rows_of(invoke("inspect", result.run_id).stdout)
    assert row.split()[:3] == ["succeeded", "S1", "Counter"]
    assert "replaced: Count to one (it was" in row
    lines = invoke("inspect", result.run_id, "--step", "S1").stdout.splitlines()
    assert lines[1] == "S1 Counter: succeeded"
    assert "Count to one" in lines
    assert "Changed: replaced; it was Reader: do S1" in lines
    step = json.loads(invoke("inspect", result.run_id, "--step", "S1", "--json").stdout)
    assert (step["agent"], step["prompt"], step["change"], step["planned"]) == (
        "Counter",
        "Count to one",
        "replaced",
        "Reader: do S1",
    )


def test_a_delegated_step_is_shown_with_whom_it_was_given_to(invoke: Invoke) -> None:
    result = run_with_decisions("DELEGATE")
    page = html.unescape(pages(result.flow_run_id)["swarm-plan"])
    (shown,) = rows_of(page)
    assert shown.startswith("| succeeded | S1 | Number Clerk | 2 | ")
    assert "given to Number Clerk: do S1 (it was Reader: do S" in shown
    (row,) = rows_of(invoke("inspect", result.run_id).stdout)
    assert row.startswith("succeeded  S1    Number Clerk ")
    assert "given to Number Clerk: do S1" in row
    lines = invoke("inspect", result.run_id, "--step", "S1").stdout.splitlines()
    assert lines[1] == "S1 Number Clerk: succeeded"
    assert "Changed: given to Number Clerk; it was Reader: do S1" in lines


def test_both_are_told_where_both_happened() -> None:
    (step,) = run_with_decisions("REPLAN", "DELEGATE").steps
    assert [attempt.agent for attempt in step.attempts] == ["Reader", "Counter", "Number Clerk"]
    assert step.change == "replaced, given to Number Clerk"
    assert (step.prompt, step.planned) == ("Count to one", "Reader: do S1")


def test_a_step_that_nothing_changed_says_nothing_of_it(invoke: Invoke) -> None:
    result = run_with_decisions("RETRY")
    assert (result.steps[0].change, result.steps[0].planned) == ("", "")
    assert "it was" not in pages(result.flow_run_id)["swarm-plan"]
    assert "Changed" not in invoke("inspect", result.run_id, "--step", "S1").stdout


def test_a_result_from_before_still_loads_and_shows_the_plans_prompt(invoke: Invoke) -> None:
    stored = RunFolder.find(run_with_decisions().run_id)
    result = stored.result()
    assert result is not None
    lately = {"prompt", "change", "planned"}
    kept = result.model_dump(mode="json", by_alias=True)
    kept["steps"] = [
        {name: value for name, value in step.items() if name not in lately}
        for step in kept["steps"]
    ]
    assert lately < set(StepState.model_fields)
    stored.write("result.json", kept)
    assert "do S1" in rows_of(invoke("inspect", stored.run_id).stdout)[0]
    assert "do S1" in invoke("inspect", stored.run_id, "--step", "S1").stdout.splitlines()
