"""A server's list of tools: what is wrong with one costs no other. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from .schemas import SchemaError, usable_schema

__all__ = ["readable_tools"]

_OPTIONAL = frozenset(
    {"outputSchema", "annotations", "icons", "execution", "title", "_meta", "description"}
)
"""Parts without which a tool can be called as well."""
_SCHEMA = "inputSchema"


def readable_tools(
    tools: Sequence[Any], wrong_parts: Callable[[Mapping[str, Any]], set[str]]
) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Return the tools that can be read, and why others can't be, by their names.

    Args:
        tools: As the server sent them.
        wrong_parts: Names the parts of a tool that the protocol's library refuses.
    """
    found: list[dict[str, Any]] = []
    left_out: dict[str, str] = {}
    for number, tool in enumerate(tools, 1):
        if not isinstance(tool, dict):
            left_out[f"#{number}"] = "it is no object"
            continue
        read = cast("dict[str, Any]", tool)
        name = read.get("name")
        if not isinstance(name, str) or not name.strip():
            left_out[f"#{number}"] = "it has no name"
            continue
        try:
            read = {**read, _SCHEMA: usable_schema(read.get(_SCHEMA))}
        except SchemaError as error:
            left_out[name] = str(error)
            continue
        wrong = wrong_parts(read)
        if rest := wrong - _OPTIONAL:
            left_out[name] = f"its {', '.join(sorted(rest))} can't be read"
        else:
            found.append({key: value for key, value in read.items() if key not in wrong})
    return found, left_out
