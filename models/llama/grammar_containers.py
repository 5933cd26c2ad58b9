"""Expressions for strings, numbers, objects and arrays."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from .grammar_rules import (
    Rules,
    Schema,
    TooLargeError,
    char_class,
    json_literal,
    literal,
    repeated,
    unsayable,
)

__all__ = [
    "MOST_COUNTED",
    "NamedPair",
    "array",
    "bounds",
    "fields_of",
    "integer",
    "mapping",
    "number",
    "other_key",
    "string",
    "structure",
]


MOST_COUNTED = 200
"""A bound above this is left to validation: a grammar has a rule for each repetition."""

_HEX = "[0-9a-fA-F]"
_DATE = r'[1-9] [0-9]{3} "-" ("0" [1-9] | "1" [0-2]) "-" ("0" [1-9] | "1" [0-9] | "2" [0-8])'
_ZONE = r'("Z" | [-+] ("0" [0-9] | "1" [0-4]) ":" [0-5] [0-9])'
_CLOCK = r'("0" [0-9] | "1" [0-9] | "2" [0-3]) ":" [0-5] [0-9] ":" [0-5] [0-9]'
_TIME = rf'{_CLOCK} ("." [0-9]{{1,6}})?'
_BYTE = r'("25" [0-5] | "2" [0-4] [0-9] | "1" [0-9] [0-9] | [1-9] [0-9] | [0-9])'
_FORMATS = {
    # The last days of a month are left out: which there are depends on the month and the year.
    "date": _DATE,
    "time": f"{_TIME} {_ZONE}",
    "date-time": f'{_DATE} "T" {_TIME} {_ZONE}',
    "uuid": ' "-" '.join(f"{_HEX}{{{count}}}" for count in (8, 4, 4, 4, 12)),
    "ipv4": ' "." '.join([_BYTE] * 4),
}


def string(schema: Schema) -> str:
    """Return the expression for a string: of a format that a grammar can say, or a length."""
    if inner := _FORMATS.get(schema.get("format", "")):
        return rf'"\"" {inner} "\""'
    least, most = bounds(schema, "minLength", "maxLength")
    if not least and most is None:
        return "string"
    return rf'"\"" {repeated("char", least, most)} "\""'


def integer(schema: Schema) -> str:
    """Return the expression for a whole number; all of them where the bounds leave few.

    Raises:
        InputError: The bounds leave none.
    """
    low, high = _whole_bounds(schema)
    if low is not None and high is not None and high - low < MOST_COUNTED:
        step = schema.get("multipleOf", 1)
        fits = [value for value in range(low, high + 1) if not value % step]
        if not fits:
            raise unsayable(f"no integer is between {low} and {high}")
        return " | ".join(literal(str(value)) for value in fits)
    if low is not None and low >= 0:
        return "[1-9] [0-9]{0,14}" if low else "whole"
    return '"-" [1-9] [0-9]{0,14}' if high is not None and high < 0 else "integer"


def number(schema: Schema) -> str:
    """Return the expression for a number; other bounds than zero are left to be validated."""
    least: Any = schema.get("minimum", schema.get("exclusiveMinimum"))
    return "whole part" if _is_number(least) and least >= 0 else "number"


def bounds(schema: Schema, least: str, most: str) -> tuple[int, int | None]:
    """Return how often something comes at least and at most, as far as a grammar counts.

    Raises:
        InputError: It can't come at least so often and at most so often.
    """
    low, high = schema.get(least, 0), schema.get(most)
    if high is not None and low > high:
        raise unsayable(f"{least} is {low} and {most} is {high}")
    least_counted = max(0, min(int(low), MOST_COUNTED))
    return least_counted, None if high is None or high > MOST_COUNTED else int(high)


def _whole_bounds(schema: Schema) -> tuple[int | None, int | None]:
    lows = [math.ceil(value) for value in _numbers(schema, "minimum")]
    lows += [math.floor(value) + 1 for value in _numbers(schema, "exclusiveMinimum")]
    highs = [math.floor(value) for value in _numbers(schema, "maximum")]
    highs += [math.ceil(value) - 1 for value in _numbers(schema, "exclusiveMaximum")]
    return max(lows, default=None), min(highs, default=None)


def _numbers(schema: Schema, key: str) -> list[float]:
    value: Any = schema.get(key)
    return [value] if _is_number(value) and math.isfinite(value) else []


def _is_number(value: Any) -> bool:
    # Older drafts have booleans for exclusive bounds.
    return isinstance(value, int | float) and not isinstance(value, bool)


_MOST_PROPERTIES = 1_000
"""llama.cpp follows those that may be left out within one another: more would exhaust its stack."""


class NamedPair(NamedTuple):
    """A property that has a name: `pair` is the rule of both."""

    pair: str
    required: bool


def fields_of(
    schema: Schema, rules: Rules, rule_of: Callable[[Any], str | None]
) -> list[NamedPair]:
    """Return the properties of an object in the schema's order.

    Args:
        schema: The object's.
        rules: Where their rules go.
        rule_of: A value's rule; None if no value fits its schema.

    Raises:
        InputError: A property is required, and no value fits it.
    """
    required = set(schema.get("required", ()))
    named = dict(schema.get("properties", {}))
    if len(required | named.keys()) > _MOST_PROPERTIES:
        raise TooLargeError(
            f"An object of the JSON Schema has more than {_MOST_PROPERTIES:,} properties.",
            "Use an object whose names are free: additionalProperties.",
        )
    unnamed = schema.get("additionalProperties", True)
    fields: list[NamedPair] = []
    for name, value in {**named, **dict.fromkeys(sorted(required - set(named)), unnamed)}.items():
        rule = rule_of(value)
        if rule is not None:
            pair = rules.add(f'{json_literal(name)} ":" ws {rule}')
            fields.append(NamedPair(pair, name in required))
        elif name in required:
            raise unsayable(f"the property {name!r} is required, and nothing fits it")
    return fields


def structure(fields: Sequence[NamedPair], extra: str, rules: Rules) -> str:
    """Return the expression for an object of these properties, in this order.

    Args:
        fields: The properties.
        extra: The rule of a pair that may follow any number of times, "" if none may.
        rules: Where the rules of its parts go.
    """
    tails = [f'("," ws {extra})*' if extra else ""]
    for field in reversed(fields):
        following = f'"," ws {field.pair}'
        tail = following if field.required else f"({following})?"
        tails.append(rules.add(f"{tail} {tails[-1]}".strip()))
    tails.reverse()
    firsts: list[str] = []
    for field, tail in zip(fields, tails[1:], strict=True):
        firsts.append(f"{field.pair} {tail}".strip())
        if field.required:
            return f'"{{" ws ({" | ".join(firsts)}) ws "}}"'
    if extra:
        firsts.append(f"{extra} {tails[-1]}")
    return f'"{{" ws (({" | ".join(firsts)}) ws)? "}}"' if firsts else '"{" ws "}"'


def mapping(schema: Schema, pair: str | None) -> str:
    """Return the expression for an object of pairs whose names are free.

    Raises:
        InputError: It needs pairs, and none fits.
    """
    return _listed("{", "}", pair, *bounds(schema, "minProperties", "maxProperties"))


def array(schema: Schema, first: Sequence[str], item: str | None) -> str:
    """Return the expression for an array.

    Args:
        schema: Its own, for its bounds.
        first: Rules of the items that it begins with; all of them are written.
        item: The rule of those that follow; None if none may.

    Raises:
        InputError: It needs more items than may be.
    """
    least, most = bounds(schema, "minItems", "maxItems")
    first = first[:most]
    if not first:
        return _listed("[", "]", item, least, most)
    more = 0 if item is None else None if most is None else most - len(first)
    lacking = max(0, least - len(first))
    if lacking and more is not None and lacking > more:
        raise unsayable(f"an array has at least {least} items, and only {len(first)} fit")
    rest = repeated(f'("," ws {item})', lacking, more)
    return f'"[" ws {_joined(first)} {rest} ws "]"'


def other_key(names: Iterable[str], rules: Rules) -> str | None:
    """Return the rule of a property's name that is none of these; None if a grammar can't say it.

    A name of these that was written again would replace the value that fits.
    """
    known = set(names)
    if not all(name.isprintable() and not {'"', "\\"} & set(name) for name in known):
        return None
    return rules.add(rf'"\"" {_other_than(known, rules)} "\""') if known else "string"


def _other_than(names: set[str], rules: Rules) -> str:
    """The rest of a name, where these rests would make it a known name."""
    following: dict[str, set[str]] = {}
    for name in filter(None, names):
        following.setdefault(name[0], set()).add(name[1:])
    choices = [
        f"{char_class([char])} {_other_than(rests, rules)}"
        for char, rests in sorted(following.items())
    ]
    free = char_class([*following, '"', "\\", "\x7f", *map(chr, range(32))], others=True)
    choices.append(f"{free} {rules.add(_PLAIN)}*")
    if "" not in names:
        choices.append('""')
    return rules.add(" | ".join(choices))


_PLAIN = r'[^"\\\x00-\x1F\x7F]'


def _listed(begin: str, end: str, item: str | None, least: int, most: int | None) -> str:
    if item is None or most == 0:
        if least:
            raise unsayable(f"it needs at least {least} items, and none fits")
        return f'"{begin}" ws "{end}"'
    more = None if most is None else most - 1
    following = repeated(f'("," ws {item})', max(0, least - 1), more)
    inner = f"{item} {following} ws"
    return f'"{begin}" ws {inner if least else f"({inner})?"} "{end}"'


def _joined(items: Sequence[str]) -> str:
    return ' "," ws '.join(items)
