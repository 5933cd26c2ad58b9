"""A run's plan may give its agents the toolsets that the run has, and no others."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from flow_runs import plan_of, run
from mcp_http_server import http_server
from prefect_swarm import override_toolsets
from prefect_swarm.errors import InputError, PlanError, ToolsetError
from prefect_swarm.flows.options import SwarmOptions
from prefect_swarm.flows.swarm import swarm
from prefect_swarm.models.resolve import override_models
from prefect_swarm.store.result import SwarmResult
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.toolsets import FunctionToolset
from quoted_texts import without_marks
from raw_mcp_server import TOOLS
from raw_servers import entry, is_running
from scripted import Script, scripted

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home")

AGENT = {"name": "Reader", "system_prompt": "You read.", "tools": ["raw"]}


def written(folder: Path, **servers: Any) -> str:
    path = folder / "tools.json"
    path.write_text(json.dumps({"mcpServers": servers}))
    return str(path)


@contextmanager
def planning() -> Generator[list[dict[str, Any]]]:
    """Let a planner give its agent the first toolset that it may; yield what it is asked with."""
    seen: list[dict[str, Any]] = []

    def plan(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        [tool] = info.output_tools
        subagent = tool.parameters_json_schema["$defs"]["Subagent"]["properties"]
        parts = [str(getattr(part, "content", "")) for each in messages for part in each.parts]
        names = subagent.get("tools", {}).get("items", {}).get("enum", [])
        seen.append({"names": names, "text": "\n".join(parts), "how": info.instructions})
        arguments = {
            "create_subagent": [{"name": "A", "system_prompt": "You look.", "tools": names[:1]}],
            "assign_task": [{"agent": "A", "prompt": "Look what time it is", "depends_on": []}],
        }
        return ModelResponse(parts=[ToolCallPart(tool.name, arguments)])

    model = Script().model()
    planner = FunctionModel(plan, model_name="far")
    with override_models(worker=model, coder=model, architect=model, orchestrator=planner):
        yield seen


def planned(**options: Any) -> SwarmResult:
    return asyncio.run(swarm("Say what time it is", options=SwarmOptions(**options)))


def test_the_planner_is_shown_the_tools_and_gives_an_agent_what_it_needs(tmp_path: Path) -> None:
    with planning() as seen:
        result = planned(mcp=written(tmp_path, raw=entry(), other=entry()))
    assert seen[0]["names"] == ["other", "python", "raw"]
    assert "- raw\n  echo: “Give the text back.”" in seen[0]["text"]
    assert "Give each the fewest" in seen[0]["how"]
    assert result.plan.agents[0].tools == ("other",)


def test_the_planner_is_offered_what_the_user_says_alone(tmp_path: Path) -> None:
    tools: FunctionToolset[None] = FunctionToolset()
    with planning() as seen, override_toolsets(stock=tools):
        planned(mcp=written(tmp_path, raw=entry()), toolsets=("stock",), plan_context=False)
    assert seen[0]["names"] == ["stock"]
    assert "echo" not in seen[0]["text"]


def test_without_toolsets_the_planner_hears_nothing_of_them() -> None:
    with planning() as seen:
        planned(toolsets=())
    assert seen[0]["names"] == []
    assert "oolset" not in seen[0]["text"] + seen[0]["how"]


def test_a_server_that_can_not_be_had_is_told_before_any_model_is_asked(tmp_path: Path) -> None:
    mcp = written(tmp_path, gone={"command": "no-such-server"})
    with planning() as seen, pytest.raises(ToolsetError, match="The MCP server gone can't be star"):
        planned(mcp=mcp)
    assert seen == []
    plan = plan_of({"id": "S1"}, agents=[{**AGENT, "tools": ["gone"]}])
    with scripted(Script()) as script, pytest.raises(ToolsetError, match="The tools of S1: "):
        run(plan, mcp=mcp)
    assert script.prompts == []


def test_a_users_plan_may_name_what_planners_are_not_offered(tmp_path: Path) -> None:
    plan = plan_of({"id": "S1"}, agents=[AGENT])
    with scripted(Script()):
        result = run(plan, mcp=written(tmp_path, raw=entry()), toolsets=())
    assert result.status == "completed"


def test_a_server_goes_by_the_name_of_its_file_and_by_one_that_planners_can_write(
    tmp_path: Path,
) -> None:
    offered: list[list[str]] = []

    def work(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if any(isinstance(part, ToolReturnPart) for part in messages[-1].parts):
            return ModelResponse(parts=[TextPart("It is known.")])
        offered.append(sorted(tool.name for tool in info.function_tools))
        return ModelResponse(parts=[ToolCallPart("io_github_x_y_echo", {"text": "x"})])

    servers = {"My Notes": entry(), "io.github.x/y": entry()}
    names = ["My Notes", "My_Notes", "io.github.x/y"]
    plan = plan_of({"id": "S1"}, agents=[{**AGENT, "tools": names}])
    mcp = written(tmp_path, **servers)
    model = FunctionModel(work)
    with override_models(worker=model, coder=model, architect=model, orchestrator=Script().model()):
        result = run(plan, mcp=mcp)
    assert result.status == "completed"
    assert result.steps[0].attempts[0].calls[0].outcome == "returned"
    each = {name.removeprefix("My_Notes_") for name in offered[0] if name.startswith("My_Notes_")}
    assert sorted(each) == sorted(TOOLS)
    assert len(offered[0]) == 2 * len(each)
    assert {"My_Notes_echo", "io_github_x_y_echo"} <= set(offered[0])
    with planning() as seen:
        planned(mcp=mcp, toolsets=("My Notes", "io_github_x_y"))
    assert seen[0]["names"] == ["My_Notes", "io_github_x_y"]


def test_a_running_step_is_offered_the_tools_that_its_server_has_then(tmp_path: Path) -> None:
    offered: list[set[str]] = []
    calls = iter(["change", "older", "newer"])

    def work(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        offered.append({tool.name for tool in info.function_tools} & {"older", "newer"})
        name = next(calls, None)
        parts = [TextPart("Done.")] if name is None else [ToolCallPart(name, {})]
        return ModelResponse(parts=parts)

    plan = plan_of({"id": "S1"}, agents=[AGENT])
    raw = {**entry(), "env": {"CHANGING": True}}
    model = FunctionModel(work)
    with override_models(worker=model, coder=model, architect=model, orchestrator=Script().model()):
        result = run(plan, mcp=written(tmp_path, raw=raw))
    assert result.status == "completed"
    assert offered == [{"older"}, {"newer"}, {"newer"}, {"newer"}]


def test_agents_call_the_server_which_ends_with_the_run(tmp_path: Path) -> None:
    pids: list[str] = []

    def work(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        answered = [part for part in messages[-1].parts if isinstance(part, ToolReturnPart)]
        if answered:
            pids.append(without_marks(str(answered[0].content)))
            return ModelResponse(parts=[TextPart("It is known.")])
        assert "pid" in [tool.name for tool in info.function_tools]
        return ModelResponse(parts=[ToolCallPart("pid", {})])

    notes = tmp_path / "notes"
    plan = plan_of(*({"id": f"S{n}"} for n in (1, 2, 3)), agents=[AGENT])
    model = FunctionModel(work)
    with override_models(worker=model, coder=model, architect=model, orchestrator=Script().model()):
        result = run(plan, mcp=written(tmp_path, raw=entry(notes)))
    [pid] = notes.read_text().split()
    assert result.status == "completed"
    assert pids == [pid] * 3
    assert not is_running(pid)


def test_agents_call_a_server_over_http_with_its_headers(tmp_path: Path) -> None:
    def work(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        for part in messages[-1].parts:
            if isinstance(part, ToolReturnPart):
                return ModelResponse(
                    parts=[TextPart(f"There are {without_marks(str(part.content))}.")]
                )
        return ModelResponse(parts=[ToolCallPart("stock", {"item": "apple"})])

    plan = plan_of({"id": "S1"}, agents=[{**AGENT, "tools": ["shop"]}])
    model = FunctionModel(work)
    with http_server() as (url, heard), override_models(worker=model, orchestrator=model):
        shop = {"url": url, "headers": {"Authorization": "Bearer abcdef"}}
        result = run(plan, mcp=written(tmp_path, shop=shop), memory=False)
    assert (result.status, result.answer) == ("completed", "There are 5.")
    assert set(heard.authorizations) == {"Bearer abcdef"}


def test_a_toolset_that_the_run_does_not_have_is_an_error_of_the_plan() -> None:
    plan = plan_of({"id": "S1"}, agents=[AGENT])
    with scripted(Script()) as script, pytest.raises(PlanError, match="unknown toolset 'raw'"):
        run(plan)
    assert script.prompts == []


def test_a_wrong_configuration_is_told_before_any_model_is_asked(tmp_path: Path) -> None:
    with planning() as seen, pytest.raises(InputError, match="neither command nor url"):
        planned(mcp=written(tmp_path, raw={}))
    assert seen == []
