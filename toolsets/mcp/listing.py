"""A server's tools as models see them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from pydantic_ai.tools import ToolDefinition
from pydantic_core import to_json

from ...plan.output import schema_problem
from ..catalogue import placed
from ..names import fitted
from .configuration import McpEndpoint, OwnMarks

if TYPE_CHECKING:
    # Its import takes a second, and many runs ask no server.
    from mcp.types import Tool

__all__ = [
    "SchemaError",
    "ToolList",
    "described",
    "distinct_names",
    "readable_tools",
    "usable_schema",
]


_LARGEST = 200_000
_CHOICES = ("anyOf", "oneOf", "allOf")


class SchemaError(Exception):
    """A schema that no model can be given; says why."""


def usable_schema(schema: object) -> dict[str, Any]:
    """Return the schema of a tool's arguments as an object with properties.

    Providers want an object at the top, and no choice between several. What can be said so, is:
    the server checks arguments anyway.

    Raises:
        SchemaError: It can't be said so, or it is not JSON Schema.
    """
    if not isinstance(schema, dict):
        raise SchemaError(f"its JSON Schema is {_noun(schema)}, not an object")
    held = cast("dict[str, Any]", schema)
    try:
        size = len(to_json(held))
    except ValueError:
        raise SchemaError("its JSON Schema is nested too deeply") from None
    if size > _LARGEST:
        raise SchemaError(f"its JSON Schema has {size:,} bytes, more than {_LARGEST:,}")
    held = cast("dict[str, Any]", _with_readable_patterns(held))
    if problem := schema_problem(held):
        raise SchemaError(problem.replace("the output's", "its", 1))
    kind = held.get("type", "object")
    if kind != "object" and not (isinstance(kind, list) and "object" in kind):
        raise SchemaError(f"its JSON Schema describes {kind!r}, and arguments are an object")
    return _with_one_choice({"properties": {}, **held, "type": "object"})


def _with_readable_patterns(value: Any) -> Any:
    r"""Leave out regular expressions that Python hasn't, such as `\p{L}` and `(?<year>\d+)`."""
    if isinstance(value, list):
        return [_with_readable_patterns(each) for each in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    read = {
        key: _with_readable_patterns(each) for key, each in cast("dict[str, Any]", value).items()
    }
    if isinstance(pattern := read.get("pattern"), str) and not _is_pattern(pattern):
        del read["pattern"]
    if isinstance(named := read.get("patternProperties"), dict):
        held = cast("dict[str, Any]", named)
        read["patternProperties"] = {key: held[key] for key in held if _is_pattern(key)}
    return read


def _is_pattern(text: str) -> bool:
    try:
        re.compile(text)
    except (re.error, OverflowError, RecursionError):
        return False
    return True


def _with_one_choice(schema: dict[str, Any]) -> dict[str, Any]:
    """Take the choices at the top apart: their properties are all there, and none must be."""
    arms = [*_arms(schema)]
    if not arms:
        return schema
    plain = {key: value for key, value in schema.items() if key not in _CHOICES}
    properties: dict[str, Any] = dict(schema["properties"])
    required: list[str] = list(schema.get("required", []))
    for arm, always in arms:
        for name, value in cast("dict[str, Any]", arm.get("properties", {})).items():
            properties.setdefault(name, value)
        if always:
            required += arm.get("required", [])
    plain["properties"] = properties
    if required:
        plain["required"] = [*dict.fromkeys(required)]
    return plain


def _arms(schema: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], bool]]:
    """Yield the schemas of the choices at the top, and whether each of them holds in any case."""
    for key in _CHOICES:
        for arm in cast("list[Any]", schema.get(key, [])):
            if isinstance(arm, dict):
                found = _followed(cast("dict[str, Any]", arm), schema)
                yield found, key == "allOf"
                yield from ((inner, of and key == "allOf") for inner, of in _arms_within(found))


def _arms_within(schema: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], bool]]:
    for key in _CHOICES:
        for arm in cast("list[Any]", schema.get(key, [])):
            if isinstance(arm, dict):
                yield cast("dict[str, Any]", arm), key == "allOf"


def _followed(arm: dict[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a reference to `$defs` stands for; other schemas as they are."""
    reference = arm.get("$ref")
    if not isinstance(reference, str) or not reference.startswith("#/"):
        return arm
    found: Any = schema
    for part in reference.removeprefix("#/").split("/"):
        found = cast("dict[str, Any]", found).get(part) if isinstance(found, dict) else None
    return cast("dict[str, Any]", found) if isinstance(found, dict) else arm


def _noun(value: object) -> str:
    return "null" if value is None else f"a {type(value).__name__}"


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
            left_out[f"#{number}"] = "it is not an object"
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


def distinct_names(own: Sequence[str]) -> dict[str, str]:
    """Return the names of a server's tools by distinct ones that any model takes.

    A name that any model takes stays. Others that would be equal end with a hash, so that no name
    depends on the order of the tools.
    """
    own = tuple(dict.fromkeys(own))
    times = Counter(fitted(name) for name in own)
    distinct: dict[str, str] = {}
    for name in own:
        plain = fitted(name)
        is_own = plain == name or times[plain] == 1
        distinct[plain if is_own else fitted(name, with_hash=True)] = name
    return distinct


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
    names, place = distinct_names([*by_name]), placed(endpoint.place)
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
