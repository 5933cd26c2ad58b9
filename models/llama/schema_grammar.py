"""From a JSON Schema to rules of a grammar."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from typing import Any, cast
from urllib.parse import unquote

from ...errors import InputError
from ...text import count_in
from .grammar_containers import (
    array,
    fields_of,
    integer,
    mapping,
    number,
    other_key,
    string,
    structure,
)
from .grammar_rules import (
    Rules,
    Schema,
    TooLargeError,
    asserts,
    choice,
    json_text,
    merged,
    unsayable,
)

__all__ = ["found_at", "schema_grammar", "schema_rule"]


def found_at(document: Any, reference: str) -> Any:
    """Return the part of a document that `#/…` leads to.

    Raises:
        InputError: It leads nowhere, or out of the document.
    """
    if reference != "#" and not reference.startswith("#/"):
        raise unsayable(f"$ref {reference!r} leads out of it")
    found = document
    for part in reference.split("/")[1:]:
        key = unquote(part).replace("~1", "/").replace("~0", "~")
        if isinstance(found, dict) and key in found:
            found = cast("dict[str, Any]", found)[key]
        elif (
            isinstance(found, list)
            and (at := count_in(key)) is not None
            and at < len(cast("list[Any]", found))
        ):
            found = cast("list[Any]", found)[at]
        else:
            raise unsayable(f"$ref {reference!r} leads nowhere")
    return found


_MOST_DEPTH = 60
_OF_NONSENSE = ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError
_MOST_PARTS = 20_000
"""Schemas within one another that rules are made of, a second time where two ways lead to one."""
_OBJECT = ("properties", "additionalProperties", "required", "patternProperties", "propertyNames")
_DEFINITIONS = ("$defs", "definitions")
_UNBOUNDED = (
    *("pattern", "patternProperties", "uniqueItems", "contains", "$ref", "$dynamicRef"),
    *("unevaluatedItems", "unevaluatedProperties"),
)
_MOST_CHOICES = 2_000
"""Of `anyOf` and the like in all of a schema: each that is open costs time at each token."""
_KINDS: dict[str, tuple[type, ...]] = {
    "array": (list,),
    "boolean": (bool,),
    "integer": (int,),
    "null": (type(None),),
    "number": (int, float),
    "object": (dict,),
    "string": (str,),
}


def schema_grammar(schema: str) -> str:
    """Return GBNF for what fits a JSON Schema, as far as a grammar can say it.

    Raises:
        InputError: No grammar can be made of it.
    """
    try:
        value = json.loads(schema)
    except (ValueError, RecursionError) as error:
        raise unsayable(f"it is not JSON, {error}") from None
    rules = Rules()
    # A schema that says nothing is a request for an object.
    said_nothing = value == {}
    return rules.grammar(schema_rule({"type": "object"} if said_nothing else value, rules))


def schema_rule(schema: Any, rules: Rules) -> str:
    """Return the name of a rule for what fits a JSON Schema.

    Raises:
        InputError: No grammar can be made of it.
    """
    with rules.all_or_nothing():
        try:
            return _Conversion(schema, rules).rule(schema)
        except _OF_NONSENSE as error:
            # A schema from outside may be anything, such as `"required": 3`.
            raise unsayable(repr(error)) from None


class _Conversion:
    def __init__(self, document: Any, rules: Rules) -> None:
        self._document = document
        self._rules = rules
        self._references: dict[str, str] = {}
        self._depth = self._count = self._open = 0
        # References that lead here with no bracket between: one of them again has no grammar.
        self._direct: tuple[str, ...] = ()

    def rule(self, schema: Any) -> str:
        self._count += 1
        if self._count > _MOST_PARTS:
            raise TooLargeError(
                f"The JSON Schema has more than {_MOST_PARTS:,} parts, with those that $ref, allOf "
                "and anyOf lead to several times.",
                "Use a smaller schema.",
            )
        if schema is True:
            return "value"
        if not isinstance(schema, Mapping):
            raise unsayable(f"nothing fits {schema!r}")
        node = cast("Schema", schema)
        if isinstance(reference := node.get("$ref"), str) and not asserts(_without(node, "$ref")):
            return self._reference(reference)
        if len(node.get("allOf", ())) == 1 and not asserts(_without(node, "allOf")):
            return self.rule(node["allOf"][0])
        self._depth += 1
        if self._depth > _MOST_DEPTH:
            raise unsayable("it is nested too deeply")
        made = self._rules.add(self._body(self._flat(node)))
        self._depth -= 1
        return made

    def _reference(self, reference: str) -> str:
        if reference in self._direct:
            raise unsayable(f"$ref {reference!r} leads to itself")
        if (known := self._references.get(reference)) is None:
            # Before it is made: it may lead back to itself.
            known = self._references[reference] = self._rules.reserve()
            # What leads here stays valid whatever happens.
            self._rules.set(known, "value")
            with self._directly(*self._direct, reference):
                self._rules.set(known, self.rule(found_at(self._document, reference)))
        return known

    @contextmanager
    def _directly(self, *references: str) -> Generator[None]:
        before, self._direct = self._direct, references
        try:
            yield
        finally:
            self._direct = before

    def _flat(self, schema: Schema) -> Schema:
        """The same without `$ref` and `allOf` at its top."""
        for _ in range(_MOST_DEPTH):
            if isinstance(reference := schema.get("$ref"), str):
                schema = merged([_without(schema, "$ref"), found_at(self._document, reference)])
            elif "allOf" in schema:
                schema = merged([_without(schema, "allOf"), *schema["allOf"]])
            else:
                return schema
        raise unsayable("a $ref leads to itself")

    def _body(self, schema: Schema) -> str:
        if "const" in schema:
            schema = merged([_without(schema, "const"), {"enum": [schema["const"]]}])
        if "enum" in schema:
            return self._enum(schema)
        for key in ("anyOf", "oneOf"):
            if key in schema:
                return self._choices(self._parts(schema[key], _without(schema, key)))
        kind = schema.get("type") or _kind_of(schema)
        kinds = [kind] if isinstance(kind, str) else list(kind)
        if schema.get("nullable") and "null" not in kinds:
            kinds.append("null")
        if len(kinds) > 1:
            bare = _without(schema, "nullable")
            return self._choices({**bare, "type": each} for each in kinds)
        return self._of_kind(kinds[0], schema)

    def _parts(self, choices: Iterable[Any], siblings: Schema) -> Iterable[Any]:
        """Choices, each with the keywords next to all of them."""
        if not asserts(siblings):
            return choices
        return [{"allOf": [siblings, choice]} for choice in choices]

    def _choices(self, schemas: Iterable[Any]) -> str:
        schemas = [*schemas]
        self._open += len(schemas)
        if self._open > _MOST_CHOICES:
            raise TooLargeError(
                f"The JSON Schema has more than {_MOST_CHOICES:,} choices of anyOf and the like.",
                "Use an enum, or a smaller schema.",
            )
        made = [rule for schema in schemas if (rule := self._rule_or_none(schema))]
        if not made:
            raise unsayable("nothing fits it")
        return " | ".join(dict.fromkeys(made))

    def _rule_or_none(self, schema: Any) -> str | None:
        depth = self._depth
        try:
            return self.rule(schema)
        except TooLargeError:
            raise
        except InputError:
            self._depth = depth
            return None

    def _enum(self, schema: Schema) -> str:
        kind = schema.get("type", ())
        types = [
            each for name in ([kind] if isinstance(kind, str) else kind) for each in _KINDS[name]
        ]
        fits = [value for value in schema["enum"] if not types or type(value) in types]
        if asserts(rest := _without(_without(schema, "enum"), "type")):
            fits = self._fitting(fits, rest)
        if not fits:
            raise unsayable("its enum has no value that fits")
        return choice([(text, "") for text in dict.fromkeys(map(json_text, fits))])

    def _fitting(self, values: Iterable[Any], schema: Schema) -> list[Any]:
        # Here and not above: few values need it, and importing this takes 60 ms.
        from jsonschema import Draft202012Validator, validators

        shared = {key: value for key, value in self._document.items() if key in _DEFINITIONS}
        # A pattern of others may take for ever, and is left to the validation of the answer.
        others = dict.fromkeys(_UNBOUNDED, _fits)
        extend: Any = validators.extend  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        validator: Any = extend(Draft202012Validator, others)({**shared, **schema})
        return [value for value in values if validator.is_valid(value)]  # pyright: ignore[reportUnknownMemberType]

    def _of_kind(self, kind: str, schema: Schema) -> str:
        match kind:
            case "object" | "array":
                with self._directly():
                    return self._object(schema) if kind == "object" else self._array(schema)
            case "string":
                return string(schema)
            case "integer":
                return integer(schema)
            case "number":
                return number(schema)
            case "boolean":
                return '"true" | "false"'
            case "null":
                return '"null"'
            case "any":
                return "value"
            case _:
                raise unsayable(f"its type is {kind!r}")

    def _object(self, schema: Schema) -> str:
        fields = fields_of(schema, self._rules, self._rule_or_none)
        unnamed, patterns = schema.get("additionalProperties"), schema.get("patternProperties", {})
        if "properties" in schema or fields:
            free = isinstance(unnamed, Mapping) or (unnamed is True and not fields)
            extra = self._pair(schema, unnamed) if free else None
            return structure(fields, extra or "", self._rules)
        if len(patterns) == 1:
            (unnamed,) = patterns.values()
        return mapping(schema, self._pair(schema, True if unnamed is None else unnamed))

    def _pair(self, schema: Schema, value: Any) -> str | None:
        names = schema.get("propertyNames", {})
        if asserts(names):
            key = self._rule_or_none({"type": "string", **names})
        else:
            key = other_key(schema.get("properties", {}), self._rules)
        rule = self._rule_or_none(value)
        return self._rules.add(f'{key} ":" ws {rule}') if key and rule else None

    def _array(self, schema: Schema) -> str:
        first: list[Any] = schema.get("prefixItems", [])
        items: Any = schema.get("items", True)
        if isinstance(items, list):
            # So older drafts say what arrays begin with.
            first, items = cast("list[Any]", items), schema.get("additionalItems", True)
        most = schema.get("maxItems")
        # Items that are never written need no rule.
        rest = None if most is not None and most <= len(first) else self._rule_or_none(items)
        return array(schema, [self.rule(item) for item in first], rest)


def _fits(*_: object) -> tuple[()]:
    """Find nothing wrong."""
    return ()


def _without(schema: Schema, key: str) -> Schema:
    return {name: value for name, value in schema.items() if name != key}


def _kind_of(schema: Schema) -> str:
    """The type that a schema without any speaks of."""
    if any(key in schema for key in _OBJECT):
        return "object"
    if "items" in schema or "prefixItems" in schema:
        return "array"
    if any(key in schema for key in ("pattern", "minLength", "maxLength", "format")):
        return "string"
    if any(key in schema for key in ("minimum", "maximum", "multipleOf")):
        return "number"
    return "any"
