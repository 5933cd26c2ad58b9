"""docs/how-to/tools.md shows configurations that can be read, and a server that has these tools."""

from __future__ import annotations

import asyncio
import os
import re
import sysconfig
from pathlib import Path

import pytest
from docs_pages import page_path
from prefect_swarm.cli.doctor.checks import check_mcp
from prefect_swarm.flows.options import SwarmOptions
from prefect_swarm.toolsets.mcp.configuration import McpEndpoint, OwnMarks
from prefect_swarm.toolsets.mcp.toolset import McpToolset, servers_named
from prefect_swarm.toolsets.names import ToolLimits
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

PAGE = page_path("how-to/tools.md").read_text("utf-8")
TIME, NOTES = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture(autouse=True)
def scripts_on_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where packages put their commands, as in an environment that is activated."""
    monkeypatch.setenv("PATH", f"{sysconfig.get_path('scripts')}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.delenv("TZ", raising=False)


def written(folder: Path, text: str) -> str:
    path = folder / "tools.json"
    path.write_text(text)
    return str(path)


def read(folder: Path, text: str) -> McpEndpoint:
    [server] = asyncio.run(servers_named(written(folder, text)))
    return server


def test_doctor_finds_the_tools_that_the_page_shows(tmp_path: Path) -> None:
    [check] = check_mcp(SwarmOptions(mcp=written(tmp_path, TIME)))
    assert f"{check.status}    {check.name}         {check.detail}" in PAGE


def test_marks_are_read_as_the_page_has_them(tmp_path: Path) -> None:
    assert read(tmp_path, NOTES).marks == OwnMarks(idempotent=("search", "read"), acting=("send",))


def test_an_agent_calls_the_server_and_reads_the_time(tmp_path: Path) -> None:
    def ask(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        for part in messages[-1].parts:
            if isinstance(part, ToolReturnPart):
                return ModelResponse(parts=[TextPart(part.model_response_str())])
        arguments = {
            "source_timezone": "Europe/Berlin",
            "time": "09:00",
            "target_timezone": "Asia/Tokyo",
        }
        return ModelResponse(parts=[ToolCallPart("convert_time", arguments)])

    toolset = McpToolset(read(tmp_path, TIME), ToolLimits())
    agent = Agent[None, str](FunctionModel(ask), toolsets=[toolset], deps_type=type(None))
    answer = asyncio.run(agent.run("What time is it in Tokyo when it is 9:00 in Berlin?")).output
    assert re.search(r"T1[67]:00:00\+09:00", answer)
