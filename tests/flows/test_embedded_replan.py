"""The embedded orchestrator replaces a step that its subagent can't do, under its grammar."""

from __future__ import annotations

import html

import pytest
from flow_runs import pages, plan_of, run, task_runs
from prefect_swarm.plan.task_ir import TaskIR
from prefect_swarm.store.failure_policy import Policy
from prefect_swarm.store.result import RunFailedError, SwarmResult

pytestmark = pytest.mark.usefixtures("prefect_server")

TASK = "Write a Python function roman(n) that returns the Roman numeral of a number up to 3999"
OUTPUT = {"kind": "python", "examples": [{"call": "roman(1994)", "gives": "MCMXCIV"}]}


def test_a_step_that_failed_is_replaced_by_a_line_of_the_models_own() -> None:
    rules = dict.fromkeys(("FORMAT", "CODE", "LOGIC", "EARLY_ABORT", "TRUNCATED"), ("REPLAN",))
    plan = plan_of({"id": "S1", "prompt": TASK, "output": OUTPUT})
    result = ended(plan, Policy.model_validate({"rules": rules, "replans": 1}))
    first, second = result.steps[0].attempts
    assert first.decision is not None
    assert first.decision.action == "REPLAN"
    assert first.decision.usage.output_tokens > 0
    agent, prompt = first.decision.outcome.split(": ", 1)
    assert second.revision == 1
    assert second.agent == agent
    assert prompt != TASK
    assert "S1, Orchestrator, replan 1" in task_runs(result.flow_run_id, least=4)
    page = html.unescape(pages(result.flow_run_id)["swarm-timeline"])
    assert f"a question ({first.decision.usage.tokens} tokens, " in page


def ended(plan: TaskIR, policy: Policy) -> SwarmResult:
    try:
        return run(plan, policy=policy, max_output_tokens=120)
    except RunFailedError as error:
        if error.result is None:
            raise
        return error.result
