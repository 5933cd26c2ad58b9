"""JSON as models write it: read as far as its meaning is certain, with a record of what was mended.

What has two readings, such as a quotation mark within a text, is an error with its place. Each
character is looked at a bounded number of times, whatever the text. Pure.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, NoReturn

from .json_value import FENCE, MOST_WITHIN, JsonProblem, ValueReader, finite

__all__ = [
    "FoundJson",
    "JsonProblem",
    "ReadJson",
    "find_json",
    "is_json",
    "read_json",
    "read_values",
]

_MOST_LOOKS = 2
"""How often a character is looked at for brackets around a JSON value that begin none."""

_BRACKET = re.compile(r"[{\[]")
_TOKEN = re.compile(r'"(?:[^"\\]|\\.?)*+(?:"|\Z)|[{}\[\]]', re.DOTALL)
# What follows a value and belongs to it: a bracket closed it too soon.
_GOES_ON = re.compile(r"[\s}\]]*,\s*(?=([\"'])[^\"'\n]{0,200}\1\s*:)")


@dataclass(frozen=True, slots=True)
class ReadJson:
    """A value, and what was mended to read it, in words."""

    value: Any
    mended: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FoundJson:
    """An object or a list within a text, from `start` to before `end`."""

    start: int
    end: int
    value: Any
    mended: tuple[str, ...]


def read_json(text: str, *, whole: bool = True) -> ReadJson:
    """Return the value that a text is, or the only object or list in it.

    Args:
        text: What a model wrote.
        whole: Whether the text is known not to be cut off: brackets that are missing at its end are
            added then.

    Raises:
        JsonProblem: There is none, or several, or what it says isn't certain.
    """
    try:
        value = _strictly(text)
    except (ValueError, RecursionError):
        pass
    else:
        if text.count("[") + text.count("{") <= MOST_WITHIN or _is_shallow(text):
            return ReadJson(value)
        # It is nested deeper than what follows can bear.
        raise JsonProblem(text, 0, f"at most {MOST_WITHIN} brackets within one another")
    found, problem = _values(text, whole=whole)
    if problem is not None:
        raise problem
    found = _distinct(found)
    if not found:
        first = len(text) - len(text.lstrip())
        raise JsonProblem(text, first, "a JSON object")
    if len(found) > 1:
        raise JsonProblem(text, found[1].start, "one JSON value and nothing behind it")
    only = found[0]
    return ReadJson(only.value, (*_around(text, only), *only.mended))


def read_values(text: str) -> list[Any]:
    """Return the objects and lists that a text consists of, one behind the other.

    Raises:
        JsonProblem: There is other text between them, or one can't be read.
    """
    found, problem = _values(text, whole=True)
    if problem is not None:
        raise problem
    place = 0
    for each in found:
        if text[place : each.start].strip(" \t\r\n;,"):
            raise JsonProblem(text, place, "JSON and nothing else")
        place = each.end
    if text[place:].strip(" \t\r\n;,}]"):
        raise JsonProblem(text, place, "the end of the text")
    return [each.value for each in found]


def find_json(text: str) -> list[FoundJson]:
    """Return the objects and lists in a text that are JSON as they stand, in their order."""
    found, _ = _values(text, whole=False)
    return [each for each in found if not each.mended]


def _strictly(text: str) -> Any:
    def refuse(word: str) -> NoReturn:
        raise ValueError(word)

    return json.loads(text, parse_constant=refuse, parse_float=finite)


def is_json(text: str) -> bool:
    """Say whether a text is JSON as Python reads it."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        # Not JSON, or a number of thousands of digits, or thousands of brackets.
        return False
    return True


def _is_shallow(text: str) -> bool:
    """Say whether JSON has few brackets within one another."""
    depth = 0
    for token in _TOKEN.finditer(text):
        if token[0] in "{[":
            depth += 1
            if depth > MOST_WITHIN:
                return False
        elif token[0] in "}]":
            depth -= 1
    return True


def _values(text: str, *, whole: bool) -> tuple[list[FoundJson], JsonProblem | None]:
    """Return the values in a text, and the problem of what begins as one and can't be read."""
    found: list[FoundJson] = []
    place, looked_at = 0, 0
    furthest: JsonProblem | None = None
    while (bracket := _BRACKET.search(text, place)) and looked_at <= _MOST_LOOKS * len(text):
        reader = ValueReader(text, bracket.start(), whole=whole)
        try:
            value = reader.read()
        except JsonProblem as problem:
            if reader.has_key:
                return found, problem
            if furthest is None or problem.place > furthest.place:
                furthest = problem
            place = bracket.start() + 1
            looked_at += problem.place - place
            continue
        place = reader.place
        if goes_on := _GOES_ON.match(text, place):
            return found, JsonProblem(text, goes_on.end(), "the end of the JSON")
        found.append(FoundJson(bracket.start(), place, value, tuple(reader.mended)))
    return found, None if found else furthest


def _distinct(found: list[FoundJson]) -> list[FoundJson]:
    """Leave out what is empty beside others, lists beside objects, and what says the same."""
    full = [each for each in found if each.value] or found[:1]
    objects = [each for each in full if isinstance(each.value, dict)] or full
    first = objects[:1]
    return first + [each for each in objects[1:] if each.value != first[0].value]


def _around(text: str, found: FoundJson) -> list[str]:
    before, after = text[: found.start].strip(), text[found.end :].strip()
    mended: list[str] = []
    if after.startswith(("}", "]")):
        mended.append("a surplus bracket left out")
    rest = before + after.strip("}] \n\t;,")
    if FENCE in rest:
        mended.append("a fence left out")
    if rest.replace(FENCE, "").removeprefix("json").strip("`} ]\n\t;,"):
        mended.append("text around it left out")
    return mended
