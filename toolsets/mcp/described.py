"""A server's tools as models are given them: names that any model takes, and marks. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mcp.types import Tool
from pydantic_ai.tools import ToolDefinition

from ..marks import placed
from ..names import fitted
from .configuration import McpEndpoint, OwnMarks

__all__ = ["ToolList", "described", "given_names"]


@dataclass(frozen=True, slots=True)
class ToolList:
    """Tools for a model.

    Attributes:
        definitions: By the names that the model gets.
        own_names: The server's names for them, by those.
        left_out: Why other tools can't be used, by the server's names for them.
    """

    definitions: Mapping[str, ToolDefinition] = field(default_factory=dict[str, ToolDefinition])
    own_names: Mapping[str, str] = field(default_factory=dict[str, str])
    left_out: Mapping[str, str] = field(default_factory=dict[str, str])


def given_names(own: Sequence[str]) -> dict[str, str]:
    """Return the names of a server's tools by distinct ones that any model takes.

    A name that any model takes stays. Others that would be equal end with a hash, so that no name
    depends on the order of the tools.
    """
    own = tuple(dict.fromkeys(own))
    times = Counter(fitted(name) for name in own)
    given: dict[str, str] = {}
    for name in own:
        plain = fitted(name)
        is_own = plain == name or times[plain] == 1
        given[plain if is_own else fitted(name, told_apart=True)] = name
    return given


def described(
    endpoint: McpEndpoint, tools: Sequence[Tool], left_out: Mapping[str, str] | None = None
) -> ToolList:
    """Return a server's tools.

    Args:
        endpoint: The server.
        tools: What it says that it has; the first of a name counts.
        left_out: Why others can't be used, by their names.
    """
    problems: dict[str, str] = dict(left_out or {})
    by_name: dict[str, Tool] = {}
    for tool in tools:
        if not _is_wanted(tool.name, endpoint):
            continue
        if by_name.get(tool.name, tool) != tool:
            problems[tool.name] = "the server has another tool of that name, which is used"
        by_name.setdefault(tool.name, tool)
    names, place = given_names([*by_name]), placed(endpoint.place)
    definitions = {
        shown: ToolDefinition(
            name=shown,
            description=by_name[own].description,
            parameters_json_schema=by_name[own].input_schema,
            metadata=_metadata(by_name[own], endpoint.marks) | place,
        )
        for shown, own in names.items()
    }
    return ToolList(definitions, names, problems)


def _is_wanted(name: str, endpoint: McpEndpoint) -> bool:
    is_in = endpoint.only is None or name in endpoint.only
    return is_in and name not in endpoint.without


def _metadata(tool: Tool, own: OwnMarks) -> dict[str, Any]:
    """Return the server's annotations, and what the user knows of the tool."""
    hints = tool.annotations.model_dump(by_alias=True) if tool.annotations else None
    metadata: dict[str, Any] = {"annotations": hints}
    if tool.name in own.idempotent:
        metadata |= {"idempotent": True}
    if own.acting is not None and (tool.name in own.acting or hints is None):
        metadata |= {"acting": tool.name in own.acting}
    return metadata
