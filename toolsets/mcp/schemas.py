"""What a tool takes, as models' providers accept it. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

from pydantic_core import to_json

from ...schema_check import schema_problem

__all__ = ["SchemaError", "usable_schema"]

_LARGEST = 200_000
_CHOICES = ("anyOf", "oneOf", "allOf")


class SchemaError(Exception):
    """A schema that no model can be given; says why."""


def usable_schema(schema: object) -> dict[str, Any]:
    """Return the schema of a tool's arguments as an object with properties.

    Providers want an object at the top, and no choice between several. What can be said so, is:
    the server checks arguments anyway.

    Raises:
        SchemaError: It can't be said so, or it is no JSON Schema.
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
