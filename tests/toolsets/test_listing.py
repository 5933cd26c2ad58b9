"""A toolset is asked which tools it has; one that can't say is named, and nothing waits for it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from prefect_swarm.errors import ToolsetError
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.toolsets.catalogue import ToolsetOverride, ToolsetUse, listed_tools
from pydantic_ai.tools import RunContext
from pydantic_ai.toolsets import FunctionToolset, ToolsetTool

pytestmark = pytest.mark.usefixtures("swarm_home")


def listed(toolset: FunctionToolset[None], seconds: float = 60) -> dict[str, Any]:
    use = ToolsetUse(RunFolder.of("run"), "", "plan")
    return dict(asyncio.run(listed_tools(ToolsetOverride("stock", toolset), use, seconds)))


def count(item: str) -> int:
    """Count an item."""
    return len(item)


def test_the_tools_are_given_by_name() -> None:
    tools = listed(FunctionToolset([count]))
    assert tools["count"].description == "Count an item."


class Mute(FunctionToolset[None]):
    async def get_tools(self, ctx: RunContext[None]) -> dict[str, ToolsetTool[None]]:
        await asyncio.Event().wait()
        return {}


class Broken(FunctionToolset[None]):
    async def get_tools(self, ctx: RunContext[None]) -> dict[str, ToolsetTool[None]]:
        raise OSError("no disk")


@pytest.mark.parametrize(
    ("toolset", "problem"),
    [
        (Mute(), "The toolset stock doesn't say within 0.1 s which tools it has."),
        (Broken(), "The toolset stock doesn't say which tools it has: OSError('no disk')."),
    ],
)
def test_what_does_not_say_is_named(toolset: FunctionToolset[None], problem: str) -> None:
    with pytest.raises(ToolsetError) as caught:
        listed(toolset, 0.1)
    assert caught.value.problem == problem
