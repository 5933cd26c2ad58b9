"""Expressions for objects and arrays, from those of what they hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from .merging import Schema, TooLargeError, unsayable
from .rules import Rules, char_class, json_literal, repeated
from .scalars import bounds

__all__ = ["NamedPair", "array", "fields_of", "mapping", "other_key", "structure"]


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
