"""Expressions for strings and numbers."""

from __future__ import annotations

import math
from typing import Any

from .merging import Schema, unsayable
from .rules import literal, repeated

__all__ = ["MOST_COUNTED", "bounds", "integer", "number", "string"]

MOST_COUNTED = 200
"""A bound above this is left to whoever validates: a grammar has a rule for each repetition."""

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
