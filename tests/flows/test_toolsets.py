"""A run's toolsets are found from its options, and it is known which of them planners may give."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from flow_runs import plan_of
from prefect_swarm import override_toolsets
from prefect_swarm.errors import InputError, ToolsetError
from prefect_swarm.flows import preflight as toolsets
from prefect_swarm.flows.options import SwarmOptions
from prefect_swarm.flows.preflight import catalogue_of_options, check_toolsets, toolsets_of_run
from prefect_swarm.plan.compile import compile_plan
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.toolsets.catalogue import Catalogue, ToolsetOverride, ToolsetUse
from prefect_swarm.toolsets.mcp.toolset import McpSource
from prefect_swarm.toolsets.names import ToolLimits
from pydantic_ai.toolsets import FunctionToolset
from raw_servers import context, entry, is_running

pytestmark = pytest.mark.usefixtures("swarm_home")

tools: FunctionToolset[None] = FunctionToolset()


def written(folder: Path, **servers: Any) -> str:
    path = folder / "tools.json"
    path.write_text(json.dumps({"mcpServers": servers}))
    return str(path)


def catalogue(**options: Any) -> Catalogue:
    return asyncio.run(catalogue_of_options(SwarmOptions(**options)))


@pytest.fixture
def others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Toolsets of another package and built-in ones, `web` among these."""
    registered = {name: ToolsetOverride(name, tools, "registered") for name in ("a", "b", "theirs")}
    monkeypatch.setattr(toolsets, "registered_toolsets", lambda: registered)
    built_in = [ToolsetOverride(name, tools, "built in") for name in ("theirs", "web")]

    def make(_: SwarmOptions) -> list[ToolsetOverride]:
        return built_in

    monkeypatch.setattr(toolsets, "_built_in", make)


def test_without_options_a_run_has_what_comes_along_and_documents_only_with_folders(
    tmp_path: Path,
) -> None:
    assert catalogue().names == {"python", "web"}
    assert catalogue(documents=(str(tmp_path),)).names == {"documents", "python", "web"}


def test_a_folder_of_documents_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ToolsetError, match="gone"):
        catalogue(documents=(str(tmp_path / "gone"),))


def test_a_planner_that_is_shown_no_context_is_offered_only_what_is_configured() -> None:
    assert catalogue().offered == {"python"}
    assert catalogue(plan_context=False).offered == frozenset()
    with override_toolsets(stock=tools):
        assert catalogue(plan_context=False).offered == {"stock"}


def test_what_is_given_comes_first_then_servers_then_packages_then_what_is_built_in(
    tmp_path: Path, others: None
) -> None:
    mcp = written(tmp_path, a=entry(), b=entry())
    with override_toolsets(a=tools):
        found = catalogue(mcp=mcp, tool_limits=ToolLimits(at_once=7))
    assert found.sources["a"] == ToolsetOverride("a", tools)
    assert isinstance(found.sources["b"], McpSource)
    assert found.sources["theirs"].about == "registered"
    assert found.sources["web"].about == "built in"
    assert found.limits.at_once == found.sources["b"].limits.at_once == 7


def test_planners_are_offered_all_but_web_or_what_the_user_names(others: None) -> None:
    assert catalogue().offered == {"a", "b", "theirs"}
    assert catalogue(toolsets=("web", "a")).offered == {"web", "a"}
    assert catalogue(toolsets=()).offered == frozenset()
    assert catalogue(toolsets=()).names == {"a", "b", "theirs", "web"}


def test_a_name_that_the_run_does_not_have_is_refused(others: None) -> None:
    with pytest.raises(InputError, match=r"no toolset 'x'\. There are a, b, theirs, web\."):
        catalogue(toolsets=("a", "x"))


def test_task_runs_find_the_toolsets_and_servers_end_with_the_run(tmp_path: Path) -> None:
    options = SwarmOptions(mcp=written(tmp_path, raw=entry()))

    async def pid(toolsets: Catalogue) -> str:
        # As an attempt has it: two after another share the server.
        use = ToolsetUse(RunFolder.of("run"), "S1", "S1.1")
        toolset = toolsets.source("raw").toolset(use)
        async with toolset:
            listed = await toolset.get_tools(context())
            return await toolset.call_tool("pid", {}, context(), listed["pid"])

    async def main() -> tuple[str, str, bool]:
        async with toolsets_of_run(options) as toolsets:
            first, second = await pid(toolsets), await pid(toolsets)
            return first, second, is_running(first)

    first, second, was_running = asyncio.run(main())
    assert first == second
    assert was_running
    assert not is_running(first)


def test_a_toolset_that_can_not_be_had_is_told_with_the_steps_that_need_it(tmp_path: Path) -> None:
    found = catalogue(mcp=written(tmp_path, gone={"command": "no-such-server"}))
    agents = [{"name": "Reader", "system_prompt": "You read.", "tools": ["gone"]}]
    plan = compile_plan(plan_of({"id": "S1"}, {"id": "S2"}, agents=agents), toolsets=found.names)
    with pytest.raises(ToolsetError) as caught:
        asyncio.run(check_toolsets(plan, found, RunFolder.of("run")))
    assert caught.value.problem.startswith(
        "The tools of S1, S2: The MCP server gone can't be started: "
    )


def test_toolsets_that_no_step_has_are_not_asked(tmp_path: Path) -> None:
    found = catalogue(mcp=written(tmp_path, gone={"command": "no-such-server"}))
    asyncio.run(check_toolsets(compile_plan(plan_of({"id": "S1"})), found, RunFolder.of("run")))
