"""A server that changes a tool between question and call: the person is asked anew."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import pytest
from prefect_swarm import override_models
from prefect_swarm.approvals.question import Answer
from prefect_swarm.approvals.store import Approvals
from prefect_swarm.approvals.waiting import RunWaitingError
from prefect_swarm.flows.options import SwarmOptions
from prefect_swarm.flows.python import swarm
from prefect_swarm.flows.resume import resume
from prefect_swarm.runs import find_run
from prefect_swarm.task_ir import parse_plan
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
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
            return ModelResponse([TextPart(f"It said {part.content}.")])
    return ModelResponse([ToolCallPart("echo", {"text": "tea"}, "call_0")])


def approve(error: RunWaitingError) -> str:
    (question,) = error.questions
    Approvals(find_run(error.run_id)).answer(Answer(question=question.id, verdict="approved"))
    return question.id


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
