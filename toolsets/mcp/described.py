"""A server's tools as models are given them: names that any model takes, and marks. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mcp.types import Tool
from pydantic_ai.tools import ToolDefinition

from .configuration import McpEndpoint, OwnMarks

__all__ = ["ToolList", "described", "given_names"]

_FOREIGN = re.compile(r"[^A-Za-z0-9_-]")
_LONGEST = 64
"""Characters that models' providers take in a tool's name."""


@dataclass(frozen=True, slots=True)
class ToolList:
    """Tools for a model.

    Attributes:
        definitions: By the names that the model gets.
        own_names: The server's names for them, by those.
    """

    definitions: Mapping[str, ToolDefinition] = field(default_factory=dict[str, ToolDefinition])
    own_names: Mapping[str, str] = field(default_factory=dict[str, str])


def given_names(own: Sequence[str]) -> dict[str, str]:
    """Return the names of a server's tools by distinct ones that any model takes."""
    given: dict[str, str] = {}
    for name in dict.fromkeys(own):
        base = _FOREIGN.sub("_", name) or "_"
        shown, number = base[:_LONGEST], 1
        while shown in given:
            number += 1
            shown = f"{base[: _LONGEST - len(str(number)) - 1]}_{number}"
        given[shown] = name
    return given


def described(endpoint: McpEndpoint, tools: Sequence[Tool]) -> ToolList:
    """Return a server's tools; the first of a name counts."""
    by_name: dict[str, Tool] = {}
    for tool in tools:
        by_name.setdefault(tool.name, tool)
    names = given_names([*by_name])
    definitions = {
        shown: ToolDefinition(
            name=shown,
            description=by_name[own].description,
            parameters_json_schema=by_name[own].input_schema,
            metadata=_metadata(by_name[own], endpoint.marks),
        )
        for shown, own in names.items()
    }
    return ToolList(definitions, names)


def _metadata(tool: Tool, own: OwnMarks) -> dict[str, Any]:
    """Return the server's annotations, and what the user knows of the tool."""
    hints = tool.annotations.model_dump(by_alias=True) if tool.annotations else None
    metadata: dict[str, Any] = {"annotations": hints}
    if tool.name in own.idempotent:
        metadata |= {"idempotent": True}
    if own.acting is not None and (tool.name in own.acting or hints is None):
        metadata |= {"acting": tool.name in own.acting}
    return metadata
