"""A server that changes a tool between question and call: the person is asked anew."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import pytest
from prefect_swarm import override_models
from prefect_swarm.flows.options import SwarmOptions
from prefect_swarm.flows.python import swarm
from prefect_swarm.flows.resume import resume
from prefect_swarm.plan.task_ir import parse_plan
from prefect_swarm.store.approvals import Approvals
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.store.question import Answer, RunWaitingError
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from quoted_texts import without_marks
from raw_mcp_server import SERVER

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home")

PLAN = parse_plan(
    {
        "objective": "Say it",
        "agents": [{"name": "Clerk", "system_prompt": "You speak.", "tools": ["raw"]}],
        "steps": [{"id": "S1", "agent": "Clerk", "prompt": "Say tea."}],
    }
)


def saying(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
    for part in messages[-1].parts:
        if isinstance(part, ToolReturnPart):
            return ModelResponse([TextPart(f"It said {without_marks(str(part.content))}.")])
    return ModelResponse([ToolCallPart("echo", {"text": "tea"}, "call_0")])


def approve(error: RunWaitingError) -> str:
    (question,) = error.questions
    Approvals(RunFolder.find(error.run_id)).answer(Answer(question=question.id, verdict="approved"))
    return question.id


def command(server: Path, **env: str) -> dict[str, object]:
    return {"command": sys.executable, "args": [str(server)], "env": env}


@pytest.mark.parametrize("changed", ["command", "variable"])
def test_an_approval_counts_for_no_other_server_of_the_same_name(
    tmp_path: Path, changed: str
) -> None:
    other, mcp = tmp_path / "other.py", tmp_path / "mcp.json"
    other.write_text(SERVER.read_text("utf-8"), "utf-8")
    places = {
        "shown": command(SERVER, DATABASE="trial", TOKEN="first-token"),  # noqa: S106
        "refreshed": command(SERVER, DATABASE="trial", TOKEN="second-token"),  # noqa: S106
        "command": command(other, DATABASE="trial"),
        "variable": command(SERVER, DATABASE="real"),
    }

    def point_to(place: str) -> None:
        mcp.write_text(json.dumps({"mcpServers": {"raw": places[place]}}), "utf-8")

    point_to("shown")
    options = SwarmOptions(approve=("tools",), mcp=str(mcp), memory=False)
    with override_models(worker=FunctionModel(saying)):
        with pytest.raises(RunWaitingError) as first:
            asyncio.run(swarm("Say it", plan=PLAN, options=options))
        shown = approve(first.value)
        point_to(changed)
        with pytest.raises(RunWaitingError) as second:
            asyncio.run(resume(first.value.run_id))
        assert [question.id for question in second.value.questions] == [f"{shown}#2"]
        point_to("refreshed")
        result = asyncio.run(resume(first.value.run_id))
    assert result.answer == "It said tea."


def test_a_call_that_was_approved_is_made_though_another_server_has_its_name_now(
    tmp_path: Path,
) -> None:
    other, mcp = tmp_path / "other.py", tmp_path / "mcp.json"
    text = SERVER.read_text("utf-8")
    other.write_text(text.replace("def echo", "def other").replace("echo, pid", "other, pid"))
    servers = {"raw": command(SERVER), "two": command(other)}
    mcp.write_text(json.dumps({"mcpServers": servers}), "utf-8")
    data = PLAN.model_dump(mode="json")
    data["agents"][0]["tools"] = ["raw", "two"]
    options = SwarmOptions(approve=("tools",), mcp=str(mcp), memory=False)
    with override_models(worker=FunctionModel(saying)):
        with pytest.raises(RunWaitingError) as waiting:
            asyncio.run(swarm("Say it", plan=parse_plan(data), options=options))
        approve(waiting.value)
        other.write_text(text, "utf-8")
        result = asyncio.run(resume(waiting.value.run_id))
    assert result.answer == "It said tea."


def test_a_tool_that_its_server_describes_otherwise_is_asked_about_again(tmp_path: Path) -> None:
    server, mcp = tmp_path / "server.py", tmp_path / "mcp.json"
    server.write_text(SERVER.read_text("utf-8"), "utf-8")
    command = {"command": sys.executable, "args": [str(server)]}
    mcp.write_text(json.dumps({"mcpServers": {"raw": command}}), "utf-8")
    options = SwarmOptions(approve=("tools",), mcp=str(mcp), memory=False)
    with override_models(worker=FunctionModel(saying)):
        with pytest.raises(RunWaitingError) as first:
            asyncio.run(swarm("Say it", plan=PLAN, options=options))
        shown = approve(first.value)
        changed = SERVER.read_text("utf-8").replace("Give the text back.", "Send it to everybody.")
        server.write_text(changed, "utf-8")
        with pytest.raises(RunWaitingError) as second:
            asyncio.run(resume(first.value.run_id))
        assert approve(second.value) == f"{shown}#2"
        assert "Send it to everybody." in second.value.questions[0].text
        assert "of raw" in second.value.questions[0].text
        result = asyncio.run(resume(first.value.run_id))
    assert result.answer == "It said tea."
