"""JSON pointers (RFC 6901) into values and into JSON Schemas. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Any, Final, cast
from urllib.parse import unquote

from ..text import one_line, plural

__all__ = [
    "MAX_POINTER",
    "MISSING",
    "NoPlaceError",
    "SchemaPlace",
    "describe_place",
    "element_at",
    "kind_of_value",
    "pointer_of",
    "pointer_parts",
    "pointer_problem",
    "schema_at",
    "value_at",
]

MAX_POINTER = 1_000
"""Characters of a pointer."""
_ESCAPE = re.compile(r"~(?![01])")
_INDEX = re.compile(r"0|[1-9][0-9]{0,9}")
_MOST_SHOWN = 200
_NAME_SHOWN = 40


class _Missing(Enum):
    MISSING = "missing"

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = _Missing.MISSING
"""What stands where there is nothing: null is a value."""


def pointer_problem(text: str) -> str:
    """Say why a text isn't a JSON pointer; "" if it is one."""
    if len(text) > MAX_POINTER:
        return f"it is not a JSON pointer: it has over {MAX_POINTER:,} characters"
    if text and not text.startswith("/"):
        shown = one_line(text, _NAME_SHOWN)
        return f"it is not a JSON pointer: it begins with no slash; write /{shown}"
    if _ESCAPE.search(text):
        return "it is not a JSON pointer: ~ is written ~0, and a slash in a name ~1"
    return ""


@lru_cache(maxsize=1_024)
def pointer_parts(pointer: str) -> tuple[str, ...]:
    """Return the names and indices of a pointer, without its escapes.

    Raises:
        ValueError: It isn't a pointer.
    """
    if problem := pointer_problem(pointer):
        raise ValueError(problem)
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:])


def pointer_of(parts: Sequence[str]) -> str:
    """Write names and indices as a pointer."""
    return "".join(f"/{part.replace('~', '~0').replace('/', '~1')}" for part in parts)


def value_at(value: object, pointer: str) -> object:
    """Return the value that a pointer leads to, or `MISSING`.

    Raises:
        ValueError: It isn't a pointer.
    """
    for part in pointer_parts(pointer):
        value = _child(value, part)
        if value is MISSING:
            break
    return value


def _child(value: object, part: str) -> object:
    if isinstance(value, dict):
        return cast("dict[str, object]", value).get(part, MISSING)
    if isinstance(value, list | tuple) and _INDEX.fullmatch(part):
        items = cast("Sequence[object]", value)
        return items[int(part)] if int(part) < len(items) else MISSING
    return MISSING


def kind_of_value(value: object) -> str:
    """Say in words what a value is: "a text", "a list of 3", "an object"."""
    match value:
        case _Missing.MISSING:
            return "nothing"
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return "a text"
        case int() | float():
            return "a number"
        case dict():
            return "an object"
        case list() | tuple():
            return f"a list of {len(cast('Sequence[object]', value)):,}"
        case _:
            return f"a {type(value).__name__}"


def describe_place(value: object, pointer: str) -> str:
    """Say in words what is at a pointer instead of a list, in about 200 characters at most.

    Args:
        value: Any JSON value.
        pointer: A pointer into it.

    Returns:
        "there is no /papers; it has title, authors", or "it is a text, not a list".

    Raises:
        ValueError: It isn't a pointer.
    """
    parts = pointer_parts(pointer)
    for count, part in enumerate(parts):
        found = _child(value, part)
        if found is MISSING:
            missing, parent = _shown(parts[: count + 1]), _shown(parts[:count])
            return f"there is no {missing}; {parent or 'it'} {_contents(value)}"
        value = found
    subject = _shown(parts) or "it"
    is_list = isinstance(value, list | tuple)
    return f"{subject} is {kind_of_value(value)}{'' if is_list else ', not a list'}"


def _shown(parts: Sequence[str]) -> str:
    return one_line(pointer_of(parts), _NAME_SHOWN)


def _contents(value: object) -> str:
    if not isinstance(value, dict):
        return f"is {kind_of_value(value)}"
    return _names(list(cast("dict[str, object]", value)))


def _names(names: Sequence[str]) -> str:
    """Say which fields there are, as many as there is room for."""
    if not names:
        return "has no fields"
    shown: list[str] = []
    room = _MOST_SHOWN - 3 * _NAME_SHOWN
    for name in names:
        short = one_line(str(name)[:_MOST_SHOWN], _NAME_SHOWN) or '""'
        room -= len(short) + 2
        if shown and room < 0:
            others = plural(len(names) - len(shown), "other")
            return f"has {', '.join(shown)} and {others}"
        shown.append(short)
    return f"has {', '.join(shown)}"


class NoPlaceError(ValueError):
    """Why a schema surely has nothing at a pointer, in words that may follow "since"."""


@dataclass(frozen=True, slots=True)
class SchemaPlace:
    """A part of a JSON Schema, and the whole one, into which its references lead."""

    schema: dict[str, Any]
    document: dict[str, Any]


_COMBINED = frozenset(
    {"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "$dynamicRef"}
)
_OF_OBJECTS = frozenset({"properties", "patternProperties", "additionalProperties", "required"})
_OF_LISTS = frozenset({"items", "prefixItems", "minItems", "maxItems"})
_ABOUT = frozenset(
    {"$ref", "$schema", "$id", "$defs", "definitions", "$comment", "$anchor"}
    | {"title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly"}
)
"""Keywords beside a reference that leave what it leads to as it is."""
_MOST_REFERENCES = 64
_KINDS = {
    "string": "a text",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
    "null": "null",
    "array": "a list",
    "object": "an object",
}


def schema_at(schema: dict[str, Any] | SchemaPlace, pointer: str) -> SchemaPlace | None:
    """Return the part of a schema that says what is at a pointer into a value that fits it.

    An object whose schema lists `properties` has no others, unless `additionalProperties`,
    `patternProperties` or a combined schema says that it may.

    Args:
        schema: A JSON Schema (2020-12) that `schema_problem` finds nothing wrong with.
        pointer: A pointer into values.

    Returns:
        The part; None where the schema leaves open what is there.

    Raises:
        NoPlaceError: No value that fits the schema has something there.
        ValueError: It isn't a pointer.
    """
    place = _resolved(schema, _place(schema))
    parts = pointer_parts(pointer)
    for count, part in enumerate(parts):
        if place is None:
            return None
        where = _shown(parts[: count + 1]), _shown(parts[:count]) or "it"
        place = _resolved(_part(place, part, *where), place)
    return place


def element_at(schema: dict[str, Any] | SchemaPlace, pointer: str) -> SchemaPlace | None:
    """Return the part of a schema that says what an element of the list at a pointer is.

    Raises:
        NoPlaceError: No value that fits the schema has a list there.
        ValueError: It isn't a pointer.
    """
    place = schema_at(schema, pointer)
    if place is None:
        return None
    kinds = _kinds(place.schema)
    if kinds and "array" not in kinds:
        subject = _shown(pointer_parts(pointer)) or "it"
        raise NoPlaceError(f"{subject} is {_in_words(kinds)}, not a list")
    if place.schema.get("prefixItems") or _COMBINED & place.schema.keys():
        return None
    return _resolved(place.schema.get("items"), place)


def _place(schema: dict[str, Any] | SchemaPlace) -> SchemaPlace:
    return schema if isinstance(schema, SchemaPlace) else SchemaPlace(schema, schema)


def _resolved(schema: object, around: SchemaPlace) -> SchemaPlace | None:
    """Follow the references of a schema; None where it leaves everything open."""
    document = around.document
    found: object = schema.schema if isinstance(schema, SchemaPlace) else schema
    for _ in range(_MOST_REFERENCES):
        if not isinstance(found, dict) or not found:
            return None
        fields = cast("dict[str, Any]", found)
        if "$id" in fields and fields is not document:
            return None  # references in it lead elsewhere
        if "$ref" not in fields:
            return SchemaPlace(fields, document)
        reference: object = fields["$ref"]
        if not isinstance(reference, str) or fields.keys() - _ABOUT:
            return None
        if reference != "#" and not reference.startswith("#/"):
            return None
        found = document
        for part in reference.split("/")[1:]:
            found = _child(found, unquote(part).replace("~1", "/").replace("~0", "~"))
    return None


def _part(place: SchemaPlace, part: str, where: str, parent: str) -> object:
    """Return the schema of a field or an element; None where it is left open."""
    schema = place.schema
    kinds = _kinds(schema)
    may_be_object = not kinds or "object" in kinds
    may_be_list = _INDEX.fullmatch(part) is not None and (not kinds or "array" in kinds)
    if not may_be_object and not may_be_list:
        raise NoPlaceError(f"there is no {where}; {parent} is {_in_words(kinds)}")
    if may_be_object and may_be_list:
        says = schema.keys() & _OF_OBJECTS, schema.keys() & _OF_LISTS
        # Without a type, the keywords say which of both is meant.
        if kinds or bool(says[0]) == bool(says[1]):
            return None
        may_be_list = bool(says[1])
    if may_be_list:
        return _element(schema, int(part), where, parent)
    properties: object = schema.get("properties")
    names = cast("dict[str, Any]", properties) if isinstance(properties, dict) else {}
    if part in names:
        found: object = names[part]
    elif schema.get("patternProperties") or _COMBINED & schema.keys():
        return None
    else:
        is_open = not names
        found = schema.get("additionalProperties", schema.get("unevaluatedProperties", is_open))
    if found is False:
        raise NoPlaceError(f"there is no {where}; {parent} {_names(list(names))}")
    return found


def _element(schema: dict[str, Any], index: int, where: str, parent: str) -> object:
    first = cast("list[Any]", schema.get("prefixItems") or [])
    most: object = schema.get("maxItems")
    found: object = first[index] if index < len(first) else schema.get("items")
    if found is False or (isinstance(most, int) and index >= most):
        longest = len(first) if found is False else most
        raise NoPlaceError(f"there is no {where}; {parent} is a list of at most {longest}")
    return found


def _kinds(schema: dict[str, Any]) -> frozenset[str]:
    """Return the types that a schema allows; none where it leaves them open."""
    kinds: object = schema.get("type")
    named = cast("list[str]", kinds) if isinstance(kinds, list) else [kinds]
    return frozenset(kind for kind in named if isinstance(kind, str))


def _in_words(kinds: frozenset[str]) -> str:
    return " or ".join(_KINDS.get(kind, kind) for kind in sorted(kinds))
