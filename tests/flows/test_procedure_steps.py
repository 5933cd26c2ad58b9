"""A plan's step that is a procedure runs the version that was current when the run began."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import pytest
from prefect_swarm import override_models
from prefect_swarm.flows.batch_line import read_line
from prefect_swarm.flows.options import SwarmOptions
from prefect_swarm.flows.resume import resume
from prefect_swarm.flows.swarm import swarm
from prefect_swarm.plan.procedure import check_procedure
from prefect_swarm.plan.task_ir import TaskIR, parse_plan
from prefect_swarm.store.procedures import save_procedure
from prefect_swarm.store.result import RunFailedError
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from scripted import Script, scripted

pytestmark = pytest.mark.usefixtures("prefect_server")

OPTIONS = SwarmOptions(memory=False)
OBJECTIVE = "Report week 48"


@pytest.fixture(autouse=True)
def stored(swarm_home: object) -> None:
    del swarm_home
    save("Sum up")


def save(verb: str) -> None:
    """Store a version whose first step is asked to do that."""
    analyst = {"name": "Analyst", "system_prompt": "You read tables."}
    steps = [
        {"id": "S1", "agent": "Analyst", "prompt": f"{verb} week {{param.week}}."},
        {"id": "S2", "agent": "Analyst", "prompt": "Shorten it.", "depends_on": ["S1"]},
    ]
    fields = {
        "name": "weekly-report",
        "purpose": "The sales of a week",
        "parameters": {"week": {"type": "integer"}},
        "plan": {"objective": "Report", "agents": [analyst], "steps": steps},
    }
    save_procedure(check_procedure(fields, "It"))


def plan() -> TaskIR:
    step = {"id": "S1", "procedure": "weekly-report", "parameters": {"week": 48}}
    return parse_plan({"objective": OBJECTIVE, "steps": [step]})


@contextmanager
def planning(worker: Script, *answers: dict[str, Any] | str) -> Generator[list[str]]:
    """Let a scripted orchestrator write these, one after the other, and yield what it is asked."""
    asked: list[str] = []

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        parts = [part for message in messages for part in message.parts]
        asked.append("\n".join(str(getattr(part, "content", "")) for part in parts))
        written = answers[min(len(asked), len(answers)) - 1]
        if info.output_tools and isinstance(written, dict):
            return ModelResponse([ToolCallPart(info.output_tools[0].name, written)])
        return ModelResponse(
            [TextPart(written if isinstance(written, str) else json.dumps(written))]
        )

    model = worker.model()
    planner = FunctionModel(answer, model_name="far")
    with override_models(worker=model, coder=model, architect=model, orchestrator=planner):
        yield asked


ASSIGNED: dict[str, Any] = {
    "create_subagent": [{"name": "Writer", "system_prompt": "You write."}],
    "assign_task": [
        {"procedure": "weekly-report", "parameters": {"week": 48}},
        {"agent": "Writer", "prompt": "Write a mail about it.", "depends_on": [1]},
    ],
}


def test_a_planner_s_procedure_is_run_with_its_inner_steps() -> None:
    worker = Script()
    with planning(worker, ASSIGNED) as asked:
        result = asyncio.run(swarm(OBJECTIVE, options=OPTIONS))
    assert "- weekly-report: “The sales of a week”; parameters: week (integer)" in asked[0]
    assert result.status == "completed"
    assert {step.id for step in result.steps} == {"S1", "S1.S1", "S1.S2", "S2"}
    assert [prompt.splitlines()[-1] for prompt in worker.prompts] == [
        "Sum up week 48.",
        "Shorten it.",
        "Write a mail about it.",
    ]
    assert result.plan.steps[0].procedure == "weekly-report@1"


def test_a_later_turn_may_assign_a_procedure() -> None:
    look = [{"agent": "Writer", "prompt": "Look."}]
    first = {**ASSIGNED, "assign_task": look, "look_after": [1]}
    second = {"assign_task": [{"procedure": "weekly-report", "parameters": {"week": 48}}]}
    worker = Script()
    with planning(worker, first, second, {"finish": {"answer": "Done."}}):
        result = asyncio.run(swarm(OBJECTIVE, options=OPTIONS.model_copy(update={"turns": 3})))
    assert (result.status, result.answer) == ("completed", "Done.")
    assert "Sum up week 48." in worker.prompts[1]
    assert result.plan.steps[1].procedure == "weekly-report@1"


def test_a_resumed_run_does_the_version_that_it_began_with() -> None:
    is_down = True

    def reply(prompt: str) -> str | Exception:
        if "Shorten" in prompt and is_down:
            return ModelHTTPError(401, "far", "no key")
        return "Sales rose."

    script = Script(reply)
    with scripted(script):
        with pytest.raises(RunFailedError) as failed:
            asyncio.run(swarm(OBJECTIVE, plan=plan(), options=OPTIONS))
        save("Count")
        is_down = False
        assert failed.value.result is not None
        run = failed.value.result.run_id
        result = asyncio.run(resume(run, retry_failed=True))
    assert result.status == "completed"
    assert result.plan.steps[0].procedure == "weekly-report@1"
    assert not [prompt for prompt in script.prompts if "Count" in prompt]


def test_a_new_run_does_the_version_that_is_current() -> None:
    save("Count")
    with scripted(Script()) as script:
        result = asyncio.run(swarm(OBJECTIVE, plan=plan(), options=OPTIONS))
    assert result.plan.steps[0].procedure == "weekly-report@2"
    assert script.prompts[0].endswith("Count week 48.")


def test_a_line_of_a_batch_has_the_steps_of_its_procedures() -> None:
    job = read_line(plan().model_dump_json(exclude_defaults=True), OPTIONS)
    assert job.plan is not None
    assert job.plan.steps[0].procedure == "weekly-report@1"
    assert job.plan.steps[0].plan is not None
