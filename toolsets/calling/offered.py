"""The tools that an attempt is offered: those of its toolsets, under names that differ. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from pydantic_ai.toolsets import ToolsetTool

from ..names import fitted
from ..source import Toolset

__all__ = ["OfferedTool", "OwnName", "ToolsOf", "earlier_names", "offered_tools"]

OwnName = tuple[str, str]
"""A toolset's name, and a tool's own name in it."""
ToolsOf = tuple[str, str, Toolset, Mapping[str, ToolsetTool[None]]]
"""Of a toolset its name, its server, itself, and its tools by their own names."""


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
    toolsets: Iterable[ToolsOf], earlier: Mapping[str, OwnName] | None = None
) -> dict[str, OfferedTool]:
    """Return the tools by the names that the model is given.

    A name that two toolsets have gets its toolset's before it. What is too long, or still equal,
    ends with a hash of both names.

    Args:
        toolsets: What each of them has.
        earlier: Names that the model was given before. Each stays with its tool, and none is given
            to another one.
    """
    toolsets = [*toolsets]
    names = _names([(name, own) for name, _, _, tools in toolsets for own in tools], earlier or {})
    offered: dict[str, OfferedTool] = {}
    for toolset, server, owner, tools in toolsets:
        for own, tool in tools.items():
            shown = names[toolset, own]
            renamed = replace(tool, tool_def=replace(tool.tool_def, name=shown))
            offered[shown] = OfferedTool(toolset, server, owner, own, renamed)
    return offered


def earlier_names(toolsets: Iterable[ToolsOf], called: Mapping[str, str]) -> dict[str, OwnName]:
    """Return whose names those are by which an earlier process called tools.

    Args:
        toolsets: What each of them has.
        called: Names that the model was given, and the toolset of each.
    """
    tools_of = {name: tools for name, _, _, tools in toolsets}
    found: dict[str, OwnName] = {}
    for shown, toolset in called.items():
        tools = tools_of.get(toolset, {})
        owns = (own for own in tools if shown in _candidates((toolset, own)))
        own = shown if shown in tools else next(owns, None)
        if own is not None:
            found[shown] = (toolset, own)
    return found


def _names(tools: Sequence[OwnName], earlier: Mapping[str, OwnName]) -> dict[OwnName, str]:
    names = {tool: shown for shown, tool in earlier.items() if tool in set(tools)}
    taken = set(earlier)
    times = Counter(fitted(own) for _, own in tools)
    # Names of their own come first: none of them depends on what another one is called.
    for tool in tools:
        plain = fitted(tool[1])
        if tool not in names and times[plain] == 1 and plain not in taken:
            names[tool] = plain
            taken.add(plain)
    for tool in tools:
        if tool not in names:
            names[tool] = next(each for each in _candidates(tool)[1:] if each not in taken)
            taken.add(names[tool])
    return names


def _candidates(tool: OwnName) -> tuple[str, ...]:
    """Return what a tool may be called, the best name first."""
    toolset, own = tool
    both = f"{toolset}_{own}"
    hashed = (fitted(f"{both}\0{more}", told_apart=True) for more in ("", *"123456789"))
    return (fitted(own), fitted(both), *hashed)
