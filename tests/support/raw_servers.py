"""Toolsets over the raw MCP server of the tests, and other ways to look at its process."""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from prefect_swarm.toolsets.mcp.configuration import McpEndpoint, OwnMarks, StdioServer
from prefect_swarm.toolsets.mcp.toolset import McpToolset
from prefect_swarm.toolsets.names import ToolLimits
from pydantic_ai.models.test import TestModel
from pydantic_ai.tools import RunContext
from pydantic_ai.toolsets import ToolsetTool
from pydantic_ai.usage import RunUsage
from raw_mcp_server import SERVER

__all__ = ["Opened", "context", "entry", "is_running", "opened", "raw_server"]


def entry(notes: Path | None = None) -> dict[str, Any]:
    """Return the raw server's entry in a configuration; each of its starts adds a line to notes."""
    args = ["-I", "-S", str(SERVER), *([str(notes)] if notes else [])]
    return {"command": sys.executable, "args": args}


def raw_server(
    notes: Path | None = None, *, marks: OwnMarks | None = None, **env: str
) -> McpEndpoint:
    """Return the raw server, named `raw`."""
    how = StdioServer.model_validate({**entry(notes), "env": env})
    return McpEndpoint(name="raw", how=how, marks=marks or OwnMarks())


def context() -> RunContext[None]:
    """Return a context such as a toolset gets of a run."""
    return RunContext(deps=None, model=TestModel(), usage=RunUsage())


class Opened:
    """A toolset that is open, with its tools."""

    def __init__(self, toolset: McpToolset, tools: dict[str, ToolsetTool[None]]) -> None:
        self.toolset, self.tools = toolset, tools

    async def call(self, name: str, **arguments: Any) -> Any:
        return await self.toolset.call_tool(name, arguments, context(), self.tools[name])


@asynccontextmanager
async def opened(endpoint: McpEndpoint, *, at_once: int = 4) -> AsyncGenerator[Opened]:
    """Open a server's toolset."""
    async with McpToolset(endpoint, ToolLimits(at_once=at_once)) as toolset:
        yield Opened(toolset, await toolset.get_tools(context()))


def is_running(pid: int | str) -> bool:
    """Say whether a process runs; what has ended and waits to be noticed doesn't."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"
