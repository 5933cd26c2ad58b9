"""Several JSON Schemas that hold at once, as a single schema."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import reduce
from typing import Any, cast

from ....errors import InputError

__all__ = ["Schema", "TooLargeError", "asserts", "merged", "unsayable"]

Schema = Mapping[str, Any]

_WORDS = frozenset(
    {"$comment", "$id", "$schema", "default", "deprecated", "description", "discriminator"}
    | {"examples", "readOnly", "title", "writeOnly", "$defs", "definitions"}
)
_HIGHEST = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties")
_LOWEST = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties")
_BOTH = ("items", "additionalProperties", "propertyNames")


class TooLargeError(InputError):
    """A grammar that would be larger than a grammar may be: no part of it is left out instead."""


def asserts(schema: Schema) -> bool:
    """Say whether a schema says anything of a value."""
    return not schema.keys() <= _WORDS


def merged(schemas: Iterable[Any]) -> Schema:
    """Return a schema for what fits all of these.

    Raises:
        InputError: Nothing does.
    """
    return reduce(_merged, schemas, cast("Schema", {}))


def unsayable(what: object) -> InputError:
    """The error for a schema that has no grammar."""
    return InputError(
        f"No grammar can be made of the JSON Schema: {what}.",
        "Use a simpler schema: objects, arrays, strings, numbers, enum, anyOf, $ref to $defs.",
    )


def _merged(first: Schema, other: Any) -> Schema:
    if other is True:
        return first
    if not isinstance(other, Mapping):
        raise unsayable(f"{other!r} fits nothing")
    second = cast("Schema", other)
    first, second = _closed(first, second), _closed(second, first)
    both = {**first, **second}
    for key in first.keys() & second.keys():
        both[key] = _RULES.get(key, _second)(first[key], second[key])
    return both


def _closed(schema: Schema, beside: Schema) -> Schema:
    """A schema whose properties fit what another says of those that it doesn't name."""
    unnamed, named = beside.get("additionalProperties", True), beside.get("properties", {})
    if unnamed is True or "properties" not in schema:
        return schema
    properties = {
        name: value if name in named else _all(value, unnamed)
        for name, value in schema["properties"].items()
    }
    return {**schema, "properties": properties}


def _second(_: Any, second: Any) -> Any:
    return second


def _all(first: Any, second: Any) -> Any:
    if first is False or second is False:
        return False
    return first if first == second else {"allOf": [first, second]}


def _properties(first: Any, second: Any) -> Any:
    shared = {key: _all(first[key], second[key]) for key in first.keys() & second.keys()}
    return {**first, **second, **shared}


def _required(first: Any, second: Any) -> Any:
    return [*first, *(name for name in second if name not in first)]


def _types(first: Any, second: Any) -> Any:
    firsts, seconds = (
        [value] if isinstance(value, str) else list(value) for value in (first, second)
    )
    shared = [kind for kind in firsts if kind in seconds]
    if "integer" in firsts + seconds and "number" in firsts + seconds and "integer" not in shared:
        shared.append("integer")
    if not shared:
        raise unsayable(f"nothing is both {first} and {second}")
    return shared[0] if len(shared) == 1 else shared


def _values(first: Any, second: Any) -> Any:
    if shared := [value for value in first if value in second]:
        return shared
    raise unsayable(f"no value is among {first} and among {second}")


def _constant(first: Any, second: Any) -> Any:
    return _values([first], [second])[0]


def _unions(first: Any, second: Any) -> Any:
    return [{"allOf": [choice, {"anyOf": second}]} for choice in first]


def _lists(first: Any, second: Any) -> Any:
    return [*first, *second]


_RULES: dict[str, Callable[[Any, Any], Any]] = {
    **dict.fromkeys(_HIGHEST, max),
    **dict.fromkeys(_LOWEST, min),
    **dict.fromkeys(_BOTH, _all),
    **dict.fromkeys(("anyOf", "oneOf"), _unions),
    "allOf": _lists,
    "const": _constant,
    "enum": _values,
    "properties": _properties,
    "required": _required,
    "type": _types,
}
