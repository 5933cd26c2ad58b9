"""Compare what an expression gave with the JSON that it should have given. Pure.

A value comes as JSON scalars and, for all else, objects with one key: `list` (tuples too), `set`,
`dict` (pairs), `other` (its text, as `str` gives it), `half` (a text with half of a character) or
`large` (its size in characters).
"""

from __future__ import annotations

import json
import math
from typing import Any, cast

__all__ = ["same", "shown"]

_LONGEST = 120


def same(expected: Any, found: Any) -> bool:
    """Say whether a value is the one expected.

    Numbers are equal by `math.isclose` where one is a float, and never equal to true or false. A
    tuple equals a list. A set equals a list in any order. A dictionary's keys are read as JSON
    writes them. What JSON can't express has one text, which `str` gives, and equals that.
    """
    kind, parts = _opened(found)
    if kind == "list":
        return isinstance(expected, list) and _is_list(cast("list[Any]", expected), parts)
    if kind == "set":
        ordered = sorted(parts, key=lambda part: _key(_plain(part)))
        return isinstance(expected, list) and _is_list(
            sorted(cast("list[Any]", expected), key=_key), ordered
        )
    if kind == "dict":
        return isinstance(expected, dict) and _is_dict(cast("dict[str, Any]", expected), parts)
    if kind == "other":
        return isinstance(expected, str) and parts == [expected]
    return kind == "" and _is_scalar(expected, found)


def shown(found: Any) -> str:
    """Write a value for people, in at most 120 characters."""
    kind, parts = _opened(found)
    if kind == "large":
        text = f"a value of {found['large']} characters"
    elif kind in ("other", "half"):
        text = str(parts[0]) if parts else "?"
    else:
        text = repr(_plain(found))
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _opened(found: Any) -> tuple[str, list[Any]]:
    """Return a value's kind, "" for a scalar, and its parts."""
    if isinstance(found, list):
        return "?", []  # Not in the encoding above: equal to no value.
    if not isinstance(found, dict):
        return "", []
    tagged = cast("dict[str, Any]", found)
    kind = next(iter(tagged), "?")
    inner = tagged.get(kind)
    return kind, cast("list[Any]", inner) if isinstance(inner, list) else []


def _pairs(parts: list[Any]) -> dict[str, Any]:
    """Return a dictionary's values by its keys as JSON writes them."""
    pairs = [cast("list[Any]", pair) for pair in parts if isinstance(pair, list)]
    return {_as_key(pair[0]): pair[1] for pair in pairs if len(pair) == 2}


def _is_scalar(expected: Any, found: Any) -> bool:
    if isinstance(expected, bool) or isinstance(found, bool):
        return expected is found
    if isinstance(expected, int | float) and isinstance(found, int | float):
        if isinstance(expected, int) and isinstance(found, int):
            return expected == found
        return _close(expected, found)
    return type(expected) is type(found) and expected == found


def _close(expected: float, found: float) -> bool:
    try:
        return math.isclose(expected, found, rel_tol=1e-9, abs_tol=1e-12)
    except OverflowError:
        return False


def _is_list(expected: list[Any], parts: list[Any]) -> bool:
    return len(expected) == len(parts) and all(map(same, expected, parts))


def _is_dict(expected: dict[str, Any], parts: list[Any]) -> bool:
    values = _pairs(parts)
    same_keys = len(parts) == len(values) and expected.keys() == values.keys()
    return same_keys and all(same(expected[key], values[key]) for key in values)


def _as_key(key: Any) -> str:
    if isinstance(key, str):
        return key
    return shown(key) if isinstance(key, dict | list) else json.dumps(key)


def _plain(found: Any) -> Any:
    """Return a value as it would be in JSON, as far as it can be."""
    kind, parts = _opened(found)
    if kind in ("list", "set"):
        return [_plain(part) for part in parts]
    if kind == "dict":
        return {key: _plain(value) for key, value in _pairs(parts).items()}
    return found if kind == "" else str(parts[0]) if parts else "?"


def _key(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
