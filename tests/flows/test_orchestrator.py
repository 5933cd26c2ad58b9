"""The orchestrator within a run: it plans and answers, under the run's own budgets."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from prefect_swarm.errors import ModelError, NoPlanError
from prefect_swarm.flows.options import SwarmOptions
from prefect_swarm.flows.swarm import swarm
from prefect_swarm.models.resolve import override_models
from prefect_swarm.plan.task_ir import TaskIR, parse_plan
from prefect_swarm.store.result import SwarmResult
from pydantic_ai.exceptions import ModelAuthenticationError, ModelConnectionError
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from scripted import Script, scripted

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home")

PLAN = {
    "create_subagent": [{"name": "Reader", "system_prompt": "You read."}],
    "assign_task": [{"agent": "Reader", "prompt": "Find it out"}],
}


def two_ends() -> TaskIR:
    steps = [{"id": name, "agent": "Reader", "prompt": f"do {name}"} for name in ("S1", "S2")]
    agents = [{"name": "Reader", "system_prompt": "You read closely."}]
    return parse_plan({"objective": "Find out", "agents": agents, "steps": steps})


def run(plan: TaskIR | None, **options: Any) -> SwarmResult:
    objective = plan.objective if plan else "Find out"
    return asyncio.run(swarm(objective, plan=plan, options=SwarmOptions(**options)))


class Planner:
    """Fails with each of these errors in turn, and plans after that."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.asked = 0

    async def __call__(self, _: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.asked += 1
        if self.errors:
            raise self.errors.pop(0)
        return ModelResponse(parts=[ToolCallPart(info.output_tools[0].name, PLAN)])


def planned_by(planner: Planner) -> SwarmResult:
    worker = Script().model()
    with override_models(worker=worker, orchestrator=FunctionModel(planner, model_name="far")):
        return run(None)


def test_a_transport_error_while_planning_is_retried_by_prefect() -> None:
    planner = Planner(ModelConnectionError("far", "no route"))
    assert planned_by(planner).status == "completed"
    assert planner.asked == 2


def test_an_orchestrator_that_refuses_is_a_model_error_and_not_asked_again() -> None:
    planner = Planner(ModelAuthenticationError("far", "wrong key"))
    with pytest.raises(ModelError, match=r"function refuses .*: wrong key"):
        planned_by(planner)
    assert planner.asked == 1


def test_an_answer_that_would_exceed_the_tokens_is_not_asked_for() -> None:
    with scripted(Script(lambda _: " ".join(f"word{n}" for n in range(40)))) as script:
        result = run(two_ends(), max_tokens=300, max_output_tokens=100)
    assert len(script.prompts) == 2
    assert result.status == "partial"
    assert "more than 300" in result.problem
    assert "## S1 · Reader" in result.answer


def test_an_answer_has_a_steps_time() -> None:
    async def never(*_: object) -> ModelResponse:
        await asyncio.Event().wait()
        raise AssertionError

    with override_models(worker=Script().model(), orchestrator=FunctionModel(never)):
        result = run(two_ends(), step_timeout_s=1)
    assert result.status == "partial"
    assert "within 1 s" in result.problem


def test_a_model_that_will_be_needed_for_the_answer_is_looked_for_first(tmp_path: Path) -> None:
    worker = Script()
    with (
        override_models(worker=worker.model()),
        pytest.raises(ModelError, match="Tier orchestrator"),
    ):
        run(two_ends(), orchestrator=f"llamacpp:{tmp_path / 'gone.gguf'}")
    assert not worker.prompts


def test_an_empty_block_is_no_answer_and_its_tokens_count() -> None:
    answers = ["```python\n\n```", "```python\nx = 1\n```"]
    plan = parse_plan(
        {
            "objective": "Write it",
            "agents": [{"name": "Coder", "system_prompt": "You code."}],
            "steps": [{"id": "S1", "agent": "Coder", "prompt": "x", "output": {"kind": "python"}}],
        }
    )
    with scripted(Script(lambda _: answers.pop(0))):
        result = run(plan)
    first, second = result.steps[0].attempts
    assert (first.category, second.category) == ("FORMAT", None)
    assert first.usage.tokens > 0
    assert result.answer == "x = 1\n"


async def _says_nothing(_: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    return ModelResponse(parts=[TextPart("I can't plan that.")])


def test_what_the_orchestrator_cannot_plan_the_coder_may() -> None:
    models = {
        "worker": Script().model(),
        "orchestrator": FunctionModel(_says_nothing, model_name="dull"),
        "coder": FunctionModel(Planner(), model_name="bright"),
    }
    with override_models(**models):
        result = run(None, orchestrator="dull", coder="bright")
    assert (result.status, result.planning.model) == ("completed", "bright")


def test_the_coder_is_not_asked_where_it_is_the_same_model() -> None:
    with (
        override_models(orchestrator=FunctionModel(_says_nothing, model_name="dull")),
        pytest.raises(NoPlanError),
    ):
        run(None)
