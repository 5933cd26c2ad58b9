"""The tools that an attempt is offered: those of its toolsets, under names that differ. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from pydantic_ai.toolsets import ToolsetTool

from ..source import Toolset

__all__ = ["OfferedTool", "offered_tools"]

_LONGEST = 64
"""Characters that providers take in a tool's name."""


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool under the name that the model calls it by.

    Attributes:
        toolset: The name of its toolset.
        server: What its calls are bounded together with.
        owner: The toolset that makes the call, under the tool's own name.
    """

    toolset: str
    server: str
    owner: Toolset
    own_name: str
    tool: ToolsetTool[None]


def offered_tools(
    toolsets: Iterable[tuple[str, str, Toolset, Mapping[str, ToolsetTool[None]]]],
) -> dict[str, OfferedTool]:
    """Return the tools by the names that the model is given.

    A name that two toolsets have gets its toolset's before it.

    Args:
        toolsets: Of each its name, its server, itself, and its tools by their own names.
    """
    toolsets = list(toolsets)
    times = Counter(name for _, _, _, tools in toolsets for name in tools)
    offered: dict[str, OfferedTool] = {}
    for toolset, server, owner, tools in toolsets:
        for name, tool in tools.items():
            shown = f"{toolset}_{name}"[:_LONGEST] if times[name] > 1 else name
            renamed = replace(tool, tool_def=replace(tool.tool_def, name=shown))
            offered[shown] = OfferedTool(toolset, server, owner, name, renamed)
    return offered
