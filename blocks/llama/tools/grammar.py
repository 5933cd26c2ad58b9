"""Grammars that hold an answer to JSON of a schema, or to a call of a tool."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, cast

from ....errors import InputError
from ..api import LocalTool
from .render import Style

__all__ = ["call_grammar", "call_schema", "schema_grammar"]

_WRAPPED: dict[Style, str] = {
    "tags": r'root ::= "<tool_call>\n" call "\n</tool_call>"',
    "list": 'root ::= "[" call "]"',
    "parameters": "root ::= call",
    "plain": "root ::= call",
}


def schema_grammar(schema: str) -> str:
    """Return GBNF for what fits a JSON Schema, as far as a grammar can say it.

    Raises:
        InputError: No grammar can be made of it.
    """
    # Here and not above: it loads llama.cpp.
    from llama_cpp.llama_grammar import json_schema_to_gbnf

    make = cast("Callable[[str], str]", json_schema_to_gbnf)
    try:
        return make(schema)
    except Exception as error:  # noqa: BLE001 - whatever is wrong with it, the caller gets it
        raise InputError(
            f"No grammar can be made of the JSON Schema: {error!r}.",
            "Use a simpler schema: objects, arrays, strings, numbers, enum, anyOf, $ref to $defs.",
        ) from None


def call_grammar(tools: Sequence[LocalTool], style: Style) -> str:
    """Return GBNF for one call of one of the tools, in a model's style.

    Raises:
        InputError: No grammar can be made of a tool's parameters.
    """
    made = schema_grammar(json.dumps(call_schema(tools, style)))
    lines = ["call" + line[4:] if line.startswith("root ") else line for line in made.splitlines()]
    return "\n".join([_WRAPPED[style], *lines])


def call_schema(tools: Sequence[LocalTool], style: Style) -> dict[str, Any]:
    """The JSON Schema of one call of one of the tools."""
    key = "parameters" if style == "parameters" else "arguments"
    definitions: dict[str, Any] = {}
    calls: list[dict[str, Any]] = []
    for number, tool in enumerate(tools):
        # Two tools may have definitions of one name.
        moved = _moved(dict(tool.parameters), f"t{number}_")
        for name in ("$defs", "definitions"):
            for own, definition in moved.pop(name, {}).items():
                definitions[f"t{number}_{own}"] = definition
        properties = {"name": {"const": tool.name}, key: moved or {"type": "object"}}
        calls.append({"type": "object", "properties": properties, "required": ["name", key]})
    schema = calls[0] if len(calls) == 1 else {"anyOf": calls}
    return {**schema, "$defs": definitions} if definitions else schema


def _moved(value: Any, prefix: str) -> Any:
    """Let references to a schema's own definitions lead to where they are moved."""
    if isinstance(value, dict):
        return {
            key: _moved_reference(inner, prefix) if key == "$ref" else _moved(inner, prefix)
            for key, inner in cast("dict[str, Any]", value).items()
        }
    if isinstance(value, list):
        return [_moved(inner, prefix) for inner in cast("list[Any]", value)]
    return value


def _moved_reference(reference: Any, prefix: str) -> Any:
    for start in ("#/$defs/", "#/definitions/"):
        if isinstance(reference, str) and reference.startswith(start):
            return f"#/$defs/{prefix}{reference.removeprefix(start)}"
    return reference
