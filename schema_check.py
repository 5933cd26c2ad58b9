"""Whether a JSON Schema can be applied at all, found out before there is anything to hold
against it. Pure: nothing is fetched.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, cast

from pydantic_core import to_json

from .formats.json_text import is_nested_over

__all__ = ["schema_problem"]

_DEEPEST = 63
"""Levels of lists and objects; far fewer than exhaust the stack of any Python we run on."""
_REFERENCES = ("$ref", "$dynamicRef")
_VALUES = ("const", "default", "enum", "examples")
_LONG = 1_000
_TOO_DEEP = "the output's JSON Schema is nested too deeply"


def schema_problem(schema: dict[str, Any]) -> str:
    """Say why a schema can't be applied as JSON Schema 2020-12; "" if it can."""
    # Here and not above: few plans have a schema, and importing this takes 60 ms.
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError

    if is_nested_over(_DEEPEST, schema):
        return _TOO_DEEP
    if problem := next(_bad_names(schema), ""):
        return problem
    try:
        if problem := _not_json(schema):
            return problem
        Draft202012Validator.check_schema(schema)  # pyright: ignore[reportUnknownMemberType]
        return next(_bad_references(schema), "")
    except (RecursionError, ValueError):
        return _TOO_DEEP
    except OverflowError as error:
        return f"the output's JSON Schema has a pattern that can't be used: {error}"
    except SchemaError as error:
        where = "/".join(map(str, error.absolute_path)) or "its top level"
        return f"the output's JSON Schema is wrong at {where}: {error.message}"


def _not_json(schema: dict[str, Any]) -> str:
    """Say what of a schema JSON can't hold: code may give anything."""
    try:
        to_json(schema)
        json.dumps(schema, allow_nan=False)
    except (ValueError, TypeError) as error:
        return f"the output's JSON Schema has what JSON can't hold: {error}"
    return ""


def _bad_names(schema: dict[str, Any]) -> Iterator[str]:
    """Find long lists of names with others among them: to tell those apart takes for ever."""
    pending: list[Any] = [schema]
    while pending:
        held = pending.pop()
        if isinstance(held, dict):
            fields = cast("dict[str, Any]", held)
            pending += [value for key, value in fields.items() if key not in _VALUES]
        elif isinstance(held, list):
            items = cast("list[Any]", held)
            pending += items
            texts = sum(isinstance(each, str) for each in items)
            if len(items) > _LONG and 0 < texts < len(items):
                yield "the output's JSON Schema has a long list of names with others among them"


def _bad_references(schema: dict[str, Any]) -> Iterator[str]:
    from jsonschema_specifications import REGISTRY
    from referencing import Registry, Resource
    from referencing.jsonschema import DRAFT202012

    sound: set[int] = set()
    root = Resource[Any].from_contents(schema, default_specification=DRAFT202012)
    registry = cast("Registry[Any]", REGISTRY)
    pending = [(root, registry.resolver_with_root(root))]
    while pending:
        resource, resolver = pending.pop()
        if problem := _leads_nowhere(resource.contents, resolver, sound):
            yield f"the output's JSON Schema {problem}"
        pending += [(inner, resolver.in_subresource(inner)) for inner in resource.subresources()]


def _leads_nowhere(contents: Any, resolver: Any, sound: set[int]) -> str:
    """Follow a reference, and those behind it; say where it ends if that is nowhere.

    Args:
        contents: What may be a reference.
        resolver: Finds what it leads to.
        sound: The ids of those that lead somewhere, which aren't followed again.
    """
    from referencing.exceptions import Unresolvable

    passed: set[int] = set()
    while (reference := _reference(contents)) and id(contents) not in sound:
        if id(contents) in passed:
            return f"has a reference that leads back to itself: {reference!r}"
        passed.add(id(contents))
        try:
            found = resolver.lookup(reference)
        except Unresolvable:
            return f"has a reference to what isn't in it: {reference!r}"
        contents, resolver = found.contents, found.resolver
    sound |= passed
    return ""


def _reference(contents: Any) -> str:
    if not isinstance(contents, dict):
        return ""
    held = cast("dict[str, Any]", contents)
    return next((held[name] for name in _REFERENCES if isinstance(held.get(name), str)), "")
