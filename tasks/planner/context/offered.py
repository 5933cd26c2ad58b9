"""The toolsets that a planner may give agents, asked what tools they have."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping

from pydantic_ai.tools import ToolDefinition

from ....errors import SandboxError
from ....runs import RunFolder
from ....text import one_line
from ....toolsets.catalogue import Catalogue
from ....toolsets.listing import listed_tools
from ....toolsets.source import ToolsetUse
from .facts import ToolFact, ToolsetFact

__all__ = ["asked_toolsets", "toolset_fact"]

_logger = logging.getLogger("prefect_swarm.tools")
_SECONDS = 60.0
_MOST_TOOLSETS, _MOST_TOOLS = 30, 12
_ABOUT_CHARS = 160


async def asked_toolsets(catalogue: Catalogue, run: RunFolder) -> tuple[ToolsetFact, ...]:
    """Return what a planner is shown of the toolsets that it is offered, in their order.

    One that needs a sandbox where there is none is left out, with a warning.

    Raises:
        ToolsetError: One can't be had, or doesn't say in time which tools it has.
    """
    names = [name for name in catalogue.sources if name in catalogue.offered][:_MOST_TOOLSETS]
    use = ToolsetUse(run, "", "plan")
    asked = [listed_tools(catalogue.source(name), use, _SECONDS) for name in names]
    listed = await asyncio.gather(*asked, return_exceptions=True)
    # Not before all have ended: a server that is still asked must not be left behind.
    for name, problem in zip(names, listed, strict=True):
        if isinstance(problem, SandboxError):
            _logger.warning("The planner is not offered the toolset %s: %s", name, problem)
        elif isinstance(problem, BaseException):
            raise problem
    return tuple(
        toolset_fact(name, catalogue.source(name).about, tools)
        for name, tools in zip(names, listed, strict=True)
        if not isinstance(tools, BaseException)
    )


def toolset_fact(name: str, about: str, tools: Mapping[str, ToolDefinition]) -> ToolsetFact:
    """Return what is shown of a toolset. Pure."""
    shown = [*tools.items()][:_MOST_TOOLS]
    return ToolsetFact(
        name=name,
        about=one_line(about, _ABOUT_CHARS),
        tools=tuple(
            ToolFact(name=tool, about=one_line(definition.description or "", _ABOUT_CHARS))
            for tool, definition in shown
        ),
        more_tools=len(tools) - len(shown),
    )
