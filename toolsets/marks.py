"""What a tool's definition says of its calls. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from pydantic_ai.tools import ToolDefinition

__all__ = ["is_acting", "is_idempotent", "marked", "needs_approval", "place_of", "placed"]

_ACTING, _IDEMPOTENT, _PLACE = "acting", "idempotent", "place"


def marked(*, acting: bool = False, idempotent: bool = False) -> dict[str, Any]:
    """Return the metadata of a tool that acts on the world, or may be called twice as well as once.

    For `Tool(…, metadata=…)`, `FunctionToolset.tool(metadata=…)` or `toolset.with_metadata(…)`.
    """
    return {_ACTING: acting, _IDEMPOTENT: idempotent}


def placed(place: str) -> dict[str, Any]:
    """Return the metadata of a tool whose calls go to a server: a hash of how that is reached."""
    return {_PLACE: place}


def place_of(tool: ToolDefinition) -> str:
    """Return where a tool's calls go, as `placed` has it; "" for a tool of this process."""
    place = (tool.metadata or {}).get(_PLACE)
    return place if isinstance(place, str) else ""


def needs_approval(tool: ToolDefinition) -> bool:
    """Say whether a person is always asked before it is called: pydantic-ai's `requires_approval`.

    With `approve` set to tools, they are asked about all that acts.
    """
    return tool.kind == "unapproved"


def is_idempotent(tool: ToolDefinition) -> bool:
    """Say whether a call that may have been made already may be made again.

    Its own metadata says so, or the annotations of its MCP server: it only reads, or repeating it
    changes nothing (`readOnlyHint`, `idempotentHint`).
    """
    metadata, hints = _marks(tool)
    if _IDEMPOTENT in metadata:
        return bool(metadata[_IDEMPOTENT])
    return bool(hints.get("readOnlyHint") or hints.get("idempotentHint"))


def is_acting(tool: ToolDefinition) -> bool:
    """Say whether a tool changes something outside the run, so that a person may want to be asked.

    Its own metadata says so, or pydantic-ai's `requires_approval`. A tool of an MCP server acts
    unless its annotations say that it only reads: that is what the protocol takes for granted.
    """
    metadata, hints = _marks(tool)
    if needs_approval(tool):
        return True
    if _ACTING in metadata:
        return bool(metadata[_ACTING])
    return "annotations" in metadata and not hints.get("readOnlyHint")


def _marks(tool: ToolDefinition) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    metadata: Mapping[str, Any] = tool.metadata or {}
    hints = metadata.get("annotations")
    if not isinstance(hints, Mapping):
        return metadata, {}
    return metadata, cast("Mapping[str, Any]", hints)
