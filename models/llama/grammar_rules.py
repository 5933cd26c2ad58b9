"""Several JSON Schemas merged into a single one."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from functools import reduce
from typing import Any, cast

from ...errors import InputError

__all__ = [
    "Rules",
    "Schema",
    "TooLargeError",
    "asserts",
    "char_class",
    "choice",
    "json_literal",
    "json_text",
    "literal",
    "merged",
    "repeated",
    "unsayable",
    "with_prefix",
]


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


def _closed(schema: Schema, siblings: Schema) -> Schema:
    """A schema whose properties fit what another says of those that it doesn't name."""
    unnamed, named = siblings.get("additionalProperties", True), siblings.get("properties", {})
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


_MOST_CHARACTERS = 1_000_000
"""Of all rules together. 128 tools with usual schemas have a tenth of it, and llama.cpp reads it
in less than a second."""
_MOST_SHARED = 40
"""Beginnings within one another that choices share."""

_PRIMITIVES = {
    "ws": r'(" " | "\n" [ \t]{0,20})?',
    "char": r'[^"\\\x00-\x1F\x7F] | "\\" (["\\/bfnrt] | "u" code)',
    # Half of a surrogate pair is not a character.
    "code": "[0-9a-cA-CefEF] [0-9a-fA-F]{3} | [dD] [0-7] [0-9a-fA-F]{2}",
    "string": r'"\"" char* "\""',
    "digits": "[0-9]{1,15}",
    "whole": '"0" | [1-9] [0-9]{0,14}',
    "integer": '"-"? whole',
    "part": '("." digits)? ([eE] [-+]? [0-9]{1,2})?',
    "number": '"-"? whole part',
    "pair": 'string ":" ws value',
    "object": '"{" ws (pair ("," ws pair)* ws)? "}"',
    "array": '"[" ws (value ("," ws value)* ws)? "]"',
    "value": 'object | array | string | number | "true" | "false" | "null"',
}
"""JSON with the blanks that models write alone; strings have no control characters."""

# What is not a name of a rule comes first: strings, classes, comments, bounds and tokens.
_NAMES = re.compile(
    r'"(?:\\.?|[^"\\])*+(?:"|\Z)|\[(?:\\.?|[^\]\\])*+(?:\]|\Z)|#[^\n]*+'
    r"|\{[^}]*+(?:\}|\Z)|<[^>\n]*+>?|([A-Za-z0-9-]+)"
)


class Rules:
    """Rules by name; what is said twice is there once."""

    def __init__(self) -> None:
        self._bodies = dict(_PRIMITIVES)
        self._names = {body: name for name, body in _PRIMITIVES.items()}
        self._count = self._size = 0

    def add(self, body: str) -> str:
        """Return the name of a rule that says this.

        Raises:
            TooLargeError: The rules are larger than a grammar may be.
        """
        if (known := self._names.get(body)) is None:
            known = self._names[body] = self.reserve()
            self.set(known, body)
        return known

    def reserve(self) -> str:
        """Return the name of a rule that is set later, because others lead back to it."""
        self._count += 1
        return f"r{self._count}"

    def set(self, name: str, body: str) -> None:
        """Say what a reserved rule is; raises what `add` does."""
        self._size += len(body)
        if self._size > _MOST_CHARACTERS:
            raise TooLargeError(
                f"The grammar would have more than {_MOST_CHARACTERS:,} characters.",
                "Use smaller schemas, or fewer tools.",
            )
        self._bodies[name] = body

    @contextmanager
    def all_or_nothing(self) -> Generator[None]:
        """Keep none of the rules that are added inside if an error is raised there."""
        bodies, size = len(self._bodies), self._size
        try:
            yield
        except BaseException:
            for name in [*self._bodies][bodies:]:
                del self._bodies[name]
            for body, name in [*self._names.items()]:
                if name not in self._bodies:
                    del self._names[body]
            self._size = size
            raise

    def grammar(self, root: str, *others: str) -> str:
        """Return the grammar that begins with the expression `root`; `others` are more rules."""
        lines = (f"{name} ::= {body}" for name, body in self._bodies.items())
        return "\n".join([f"root ::= {root}", *lines, *others])


def literal(text: str) -> str:
    """Return text as a grammar writes it: what stands there, letter by letter."""
    return f'"{"".join(map(_in_quotes, text))}"'


def json_literal(value: Any) -> str:
    """Return a value's JSON as a grammar writes it."""
    return literal(json_text(value))


def choice(texts: Sequence[tuple[str, str]], depth: int = 0) -> str:
    """Return the expression for one of these texts, each with what follows it.

    What they begin with alike is there once: of each choice that is still open llama.cpp looks at
    all tokens again, for each token that is written.
    """
    alike: dict[str, list[tuple[str, str]]] = {}
    for text, following in texts:
        alike.setdefault(text[:1], []).append((text, following))
    choices: list[str] = []
    for group in alike.values():
        shared = _shared([text for text, _ in group])
        if len(group) == 1 or not shared or depth >= _MOST_SHARED:
            choices += (f"{literal(text)} {following}".rstrip() for text, following in group)
            continue
        rest = [(text[len(shared) :], following) for text, following in group]
        choices.append(f"{literal(shared)} ({choice(rest, depth + 1)})")
    return " | ".join(choices)


def _shared(texts: Sequence[str]) -> str:
    """Return what texts begin with alike."""
    # What the first and the last in their order have in common, all between them have.
    first, last = min(texts), max(texts)
    size = next((n for n, pair in enumerate(zip(first, last)) if pair[0] != pair[1]), len(first))  # noqa: B905 - the first may be shorter
    return first[:size]


def json_text(value: Any) -> str:
    """Return a value's JSON, of characters that a grammar can have."""
    text = json.dumps(value, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        # Half of a surrogate pair.
        text = json.dumps(value)
    return text


def char_class(chars: Iterable[str], *, others: bool = False) -> str:
    """Return the class of these characters, or of all `others`."""
    inner = "".join(char if char.isalnum() else f"\\U{ord(char):08X}" for char in sorted(chars))
    return f"[{'^' if others else ''}{inner}]"


def repeated(item: str, least: int, most: int | None) -> str:
    """Return an expression for an item so many times; nothing if it is never."""
    if most == 0:
        return ""
    return f"{item}{{{least},{'' if most is None else most}}}"


def with_prefix(grammar: str, prefix: str) -> str:
    """Return a grammar whose rules have other names, so that both fit into one grammar."""
    return _NAMES.sub(lambda found: prefix + found[1] if found[1] else found[0], grammar)


def _in_quotes(char: str) -> str:
    if char in '"\\':
        return f"\\{char}"
    return char if char.isprintable() else f"\\U{ord(char):08X}"
