"""What `doctor` says of MCP servers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ...errors import ToolsetError
from ...flows.options import SwarmOptions
from ...text import one_line, plural
from .check import Check

if TYPE_CHECKING:
    from ...toolsets.mcp.configuration import McpEndpoint

__all__ = ["check_mcp"]

_SECONDS = 60.0


def check_mcp(options: SwarmOptions) -> Iterable[Check]:
    """Start or reach each server that the options name, and count its tools.

    Raises:
        InputError: A configuration can't be read, or is wrong.
    """
    return asyncio.run(_checked(options.mcp)) if options.mcp else ()


async def _checked(named: str) -> list[Check]:
    from ...toolsets.mcp.reading import servers_named

    # All at once: each may take as long as a server that doesn't answer is waited for.
    return await asyncio.gather(*map(_check, await servers_named(named)))


async def _check(server: McpEndpoint) -> Check:
    from ...toolsets.mcp.owners import owned

    title = f"mcp {server.name}"
    try:
        async with owned(server, 1) as owner:
            tools = await owner.tools(_SECONDS)
    except ToolsetError as error:
        return Check(title, "fail", error.problem, "Look at its configuration.")
    names = one_line(", ".join(tools.definitions), 200)
    what = f"{plural(len(tools.definitions), 'tool')}: {names}" if names else "no tools"
    return Check(title, "ok" if names else "warn", f"over {server.transport}, {what}")
