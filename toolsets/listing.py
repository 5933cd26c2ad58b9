"""What the tools of a toolset are, asked of the toolset itself."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from pydantic_ai.models.test import TestModel
from pydantic_ai.tools import RunContext, ToolDefinition
from pydantic_ai.usage import RunUsage

from ..errors import SwarmError, ToolsetError
from .source import ToolsetSource, ToolsetUse

__all__ = ["listed_tools"]


async def listed_tools(
    source: ToolsetSource, use: ToolsetUse, seconds: float
) -> Mapping[str, ToolDefinition]:
    """Return the tools of a toolset by their names, as an attempt would have them.

    Raises:
        ToolsetError: It can't be had, or doesn't say within so many seconds.
    """
    try:
        async with asyncio.timeout(seconds):
            async with source.toolset(use) as toolset:
                # Toolsets may look at the model of a run; this one is asked nothing.
                context = RunContext(deps=None, model=TestModel(), usage=RunUsage())
                tools = await toolset.get_tools(context)
    except TimeoutError:
        raise ToolsetError(
            f"The toolset {source.name} doesn't say within {seconds:g} s which tools it has.",
            "Look at what it needs, or take it away.",
        ) from None
    except SwarmError:
        raise
    except Exception as error:
        raise ToolsetError(
            f"The toolset {source.name} doesn't say which tools it has: {error!r}.",
            "Look at what it needs, or take it away.",
        ) from error
    return {name: tool.tool_def for name, tool in tools.items()}
