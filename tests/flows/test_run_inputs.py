"""Files reach the steps that name them, by way of the flow, its form and Python."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from flow_runs import plan_of
from prefect_swarm import SwarmOptions, SwarmResult, resume, swarm, swarm_flow
from prefect_swarm.errors import InputError, PlanError
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.store.result import RunFailedError
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from quoted_texts import without_marks
from scripted import Script, scripted

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home")

FORGETFUL = SwarmOptions(memory=False)
TEXTS = {"sales.csv": "region,sum\nnorth,3", "notes.md": "# Rain in May"}
TWO = plan_of(
    {"id": "S1", "inputs": ["sales.csv"]},
    {"id": "S2", "inputs": ["notes.md"]},
    {"id": "S3", "depends_on": ["S1"], "inputs": ["notes.md"]},
    {"id": "S4", "depends_on": ["S2", "S3"]},
)


def by_step(script: Script) -> Mapping[str, str]:
    return {prompt.split()[-1]: without_marks(prompt) for prompt in script.prompts}


def run_flow(**given: Any) -> SwarmResult:
    flow: Any = swarm_flow
    return asyncio.run(flow("Find out", options=FORGETFUL, **given))


def test_each_step_sees_the_files_that_it_names(tmp_path: Path) -> None:
    for name, text in TEXTS.items():
        (tmp_path / name).write_text(text)
    with scripted(Script(lambda prompt: f"<{prompt.split()[-1]}>")) as script:
        result = asyncio.run(swarm("Find out", plan=TWO, inputs=[tmp_path], options=FORGETFUL))
    assert result.status == "completed"
    assert by_step(script) == {
        "S1": "Input sales.csv:\nregion,sum\nnorth,3\n\ndo S1",
        "S2": "Input notes.md:\n# Rain in May\n\ndo S2",
        "S3": "Input notes.md:\n# Rain in May\n\nResult of S1 (Reader):\n<S1>\n\ndo S3",
        "S4": "Result of S2 (Reader):\n<S2>\n\nResult of S3 (Reader):\n<S3>\n\ndo S4",
    }


def test_the_flow_takes_texts_by_name() -> None:
    with scripted(Script()) as script:
        result = run_flow(plan=TWO, inputs=TEXTS)
    assert result.plan.inputs == TEXTS
    assert "region,sum" in by_step(script)["S1"]


def test_a_text_may_be_larger_than_a_parameter_of_prefect() -> None:
    text = "x" * 600_000
    plan = plan_of({"id": "S1"})
    with scripted(Script()) as script:
        asyncio.run(swarm("Find out", plan=plan, inputs={"long": text}, options=FORGETFUL))
    assert len(script.prompts[0]) > len(text)


def test_a_run_that_is_resumed_has_its_inputs() -> None:
    with (
        scripted(Script(lambda _: ModelHTTPError(401, "far"))),
        pytest.raises(RunFailedError) as caught,
    ):
        asyncio.run(swarm("Find out", plan=TWO, inputs=TEXTS, options=FORGETFUL))
    assert caught.value.result is not None
    with scripted(Script()) as script:
        result = asyncio.run(resume(caught.value.result.run_id))
    assert result.status == "completed"
    assert by_step(script)["S1"].startswith("Input sales.csv:")
    assert RunFolder.find(result.run_id).read_json("inputs.json") == TEXTS


def test_nothing_is_asked_where_a_plan_names_an_input_that_is_not_given() -> None:
    with scripted(Script()) as script, pytest.raises(PlanError, match=r"unknown input 'notes\.md'"):
        run_flow(plan=TWO, inputs={"sales.csv": "x"})
    assert script.prompts == []


def test_a_plan_s_own_input_is_not_given_again() -> None:
    plan = plan_of({"id": "S1"}, inputs={"notes.md": "mine"})
    with scripted(Script()) as script, pytest.raises(PlanError, match=r"input 'notes\.md' of its"):
        run_flow(plan=plan, inputs=TEXTS)
    assert script.prompts == []


@pytest.mark.parametrize("inputs", [{"a,b": "x"}, {"a": ""}])
def test_nothing_is_asked_where_an_input_cannot_be_taken(inputs: dict[str, str]) -> None:
    with scripted(Script()) as script, pytest.raises(InputError):
        run_flow(inputs=inputs)
    assert script.prompts == []


def test_a_planner_sees_names_and_sizes_and_its_steps_read_what_they_name() -> None:
    seen: list[str] = []
    plan = {
        "create_subagent": [{"name": "Ann", "system_prompt": "You read."}],
        "assign_task": [
            {"agent": "Ann", "prompt": "Add up", "inputs": ["sales.csv"]},
            {"agent": "Ann", "prompt": "Sum up", "depends_on": [1], "inputs": ["notes.md"]},
        ],
    }

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen.append(str(messages))
        if info.output_tools:
            return ModelResponse([ToolCallPart(info.output_tools[0].name, plan)])
        return ModelResponse([TextPart("Done.")])

    options = SwarmOptions(memory=False, model=FunctionModel(answer))  # type: ignore[arg-type]
    texts = {**TEXTS, "notes.md": "# Rain in May\nIt rained."}
    result = asyncio.run(swarm("Find out", inputs=texts, options=options))
    assert "sales.csv (CSV, 1 row, 18 characters, about 6 tokens), begins: region,sum" in seen[0]
    assert "It rained" not in seen[0]
    assert "region,sum" in seen[1]
    assert "It rained" not in seen[1]
    assert "It rained" in seen[2]
    assert [step.inputs for step in result.plan.steps] == [("sales.csv",), ("notes.md",)]
    assert json.loads(result.plan.model_dump_json())["inputs"] == texts
