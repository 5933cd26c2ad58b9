"""JSON read strictly: what readers understand differently is refused, with its place. Pure."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any, cast

__all__ = ["NotStrictError", "nesting", "read_json", "read_object"]

_SURROGATE = re.compile(r"[\ud800-\udfff]")
_MAYBE_HALF = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")
_PLAIN = re.compile(r"[A-Za-z_]\w*")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_NO_BRACKET = re.compile(r"[^][{}]+")
_MOST_LEVELS = 200
_MOST_PROBLEMS = 5
_LONGEST = 40


class NotStrictError(ValueError):
    """A text that Python reads as JSON and others don't; `problems` say what is wrong where."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


class _Pairs(dict[str, Any]):
    """An object, and the keys that it has more than once."""

    twice: tuple[str, ...] = ()


def read_json(text: str) -> Any:
    """Read a JSON text.

    Raises:
        NotStrictError: A key is there twice, a number is none or too large, or a text has half of
            a character.
        ValueError: It isn't JSON.
        RecursionError: It is nested too deeply.
    """
    doubts: list[str] = []

    def note(found: str) -> float:
        doubts.append(found)
        return float(found)

    def number(found: str) -> float:
        value = float(found)
        return value if math.isfinite(value) else note(found)

    def pairs(found: list[tuple[str, Any]]) -> _Pairs:
        made = _object(found)
        doubts.extend(made.twice)
        return made

    value: Any = json.loads(text, object_pairs_hook=pairs, parse_constant=note, parse_float=number)
    # To go through all values takes far longer than to read them.
    if not doubts and not _MAYBE_HALF.search(text):
        return value
    problems: list[str] = []
    for place, part in _parts(value):
        problems += _problems(place, part)
        if len(problems) >= _MOST_PROBLEMS:
            break
    if problems:
        raise NotStrictError(problems[:_MOST_PROBLEMS])
    return value


def read_object(data: bytes | str) -> dict[str, Any]:
    """Read a JSON object.

    Raises:
        ValueError: It is none, or not read the same by all readers; says why.
    """
    text = data if isinstance(data, str) else data.decode()
    if not text.strip():
        raise ValueError("it is empty")
    try:
        _check_nesting(text)
        found: object = read_json(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not isinstance(found, dict):
        raise ValueError("it is not a JSON object")
    return cast("dict[str, Any]", found)


def _check_nesting(text: str) -> None:
    """Refuse a text with more levels than what is made of it can be written or walked with.

    Raises:
        RecursionError: It has.
    """
    if text.count("[") + text.count("{") <= _MOST_LEVELS:
        return
    # Level by level from the inside, with what works at the speed of the machine.
    brackets = _NO_BRACKET.sub("", _STRING.sub("", text))
    for _ in range(_MOST_LEVELS):
        fewer = brackets.replace("[]", "").replace("{}", "")
        if fewer == brackets:
            return
        brackets = fewer
    raise RecursionError


def nesting(value: Any) -> int:
    """Return how many levels of lists and objects a value has."""
    return max(depth + isinstance(part, dict | list) for depth, _, part in _walk(value))


def _object(pairs: list[tuple[str, Any]]) -> _Pairs:
    found = _Pairs(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        found.twice = tuple({key: None for key, _ in pairs if key in seen or seen.add(key)})
    return found


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    """Go through all values, each with its JSON path."""
    return ((place, part) for _, place, part in _walk(value))


def _walk(value: Any) -> Iterator[tuple[int, str, Any]]:
    # By a list, not by calls: nesting is bounded by the reader alone.
    waiting: list[tuple[int, str, Any]] = [(0, "$", value)]
    while waiting:
        depth, place, part = waiting.pop()
        yield depth, place, part
        if isinstance(part, dict):
            members = cast("dict[str, Any]", part).items()
            waiting += [(depth + 1, f"{place}{_step(key)}", child) for key, child in members][::-1]
        elif isinstance(part, list):
            items = enumerate(cast("list[Any]", part))
            waiting += [(depth + 1, f"{place}[{at}]", child) for at, child in items][::-1]


def _step(key: str) -> str:
    short = key if len(key) <= _LONGEST else f"{key[:_LONGEST]}…"
    return f".{short}" if _PLAIN.fullmatch(short) else f"[{json.dumps(short)}]"


def _problems(place: str, part: Any) -> Iterator[str]:
    if isinstance(part, _Pairs):
        for key in part.twice:
            yield f"{place}: the key {json.dumps(key[:_LONGEST])} is there twice"
        for key in filter(_SURROGATE.search, part):
            yield f"{place}: the key {json.dumps(key[:_LONGEST])} has half of a character"
    elif isinstance(part, str) and _SURROGATE.search(part):
        yield f"{place}: the text has half of a character, {_SURROGATE.findall(part)[0]!a}"
    elif isinstance(part, float) and not math.isfinite(part):
        yield f"{place}: {json.dumps(part)} is no number that JSON can hold"
