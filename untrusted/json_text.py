"""JSON read strictly: what readers understand differently is refused, with its place. Pure."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, cast

from pydantic import ValidationError
from pydantic_core import ErrorDetails

__all__ = [
    "STEP_ID",
    "NoJsonError",
    "NotStrictError",
    "describe",
    "is_nested_over",
    "json_type",
    "read_json",
    "read_object",
]


_DEEPEST = 100
"""Levels of lists and objects: what reads the value level by level has room for so many."""
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_MAYBE_HALF = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")
_PLAIN = re.compile(r"[A-Za-z_]\w*")
# What begins as a text and has no end goes on to the end, so that nothing is looked at twice.
_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[{}\[\],:]|[^\s"{}\[\],:]++', re.DOTALL)
_DIGITS = re.compile(r"[0-9]{4000,}+")
_WORDS = frozenset({"true", "false", "null"})
_MOST_PROBLEMS = 5
_LONGEST = 40


class NoJsonError(ValueError):
    """Why a text can't be read as JSON, and where; `line` and `column` count from 1."""

    def __init__(self, problem: str, line: int, column: int) -> None:
        super().__init__(f"{problem} at line {line:,}, column {column:,}")
        self.problem = problem
        self.line = line
        self.column = column


class NotStrictError(NoJsonError):
    """A text that Python reads as JSON and others don't; `problems` say what is wrong where."""

    def __init__(self, problems: list[str], line: int, column: int) -> None:
        super().__init__("; ".join(problems), line, column)
        self.problems = problems


def read_json(text: str, *, halves: bool = False) -> Any:
    """Read a JSON text.

    Args:
        text: The text.
        halves: Whether halves of characters are let through; the caller replaces them.

    Raises:
        NotStrictError: A key is there twice, a number is none or too large, a text has half of a
            character, or it is nested too deeply; says the place of the first.
        NoJsonError: It isn't JSON, or too deep or too long a number to be read; says where.
    """
    doubts: list[str] = []

    def number(found: str) -> float:
        value = float(found)
        if not math.isfinite(value):
            doubts.append(found)
        return value

    def members(found: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(found)
        if len(made) < len(found):
            doubts.append("a key")
        return made

    try:
        value: Any = json.loads(
            text, object_pairs_hook=members, parse_constant=number, parse_float=number
        )
    except json.JSONDecodeError as error:
        raise NoJsonError(error.msg, error.lineno, error.colno) from None
    except RecursionError:
        problem, at = next(_problems(text, halves), ("it is nested too deeply", 0))
        raise NoJsonError(problem, *_place(text, at)) from None
    except ValueError:
        # Python refuses to read a number of thousands of digits.
        found = _DIGITS.search(text)
        problem = "a number of thousands of digits is too long"
        raise NoJsonError(problem, *_place(text, found.start() if found else 0)) from None
    # To look at each part of the text takes far longer than to read it.
    is_deep = text.count("[") + text.count("{") > _DEEPEST
    if not doubts and not is_deep and not (not halves and _MAYBE_HALF.search(text)):
        return value
    if found := [*islice(_problems(text, halves), _MOST_PROBLEMS)]:
        raise NotStrictError([problem for problem, _ in found], *_place(text, found[0][1]))
    return value


def read_object(data: bytes | str) -> dict[str, Any]:
    """Read a JSON object.

    Raises:
        ValueError: It is none, or not read the same by all readers; says why.
    """
    text = data if isinstance(data, str) else data.decode()
    if not text.strip():
        raise ValueError("it is empty")
    found: object = read_json(text)
    if not isinstance(found, dict):
        raise ValueError("it is not a JSON object")
    return cast("dict[str, Any]", found)


def _place(text: str, at: int) -> tuple[int, int]:
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)


class _Level:
    """A list or an object that a text is within."""

    def __init__(self, path: str, is_object: bool) -> None:
        self.path = path
        self.keys = dict[str, int]()
        self.key = ""
        self.index = 0
        self.is_object = is_object
        self.awaits_key = is_object

    def place(self) -> str:
        """Return the JSON path of the value that follows."""
        return f"{self.path}{_step(self.key)}" if self.is_object else f"{self.path}[{self.index}]"


def _problems(text: str, halves: bool) -> Iterator[tuple[str, int]]:
    """Yield what is wrong with a text that Python reads as JSON, and at which character.

    By a list of levels, not by calls: nesting is bounded by the reader alone.
    """
    levels: list[_Level] = []
    for found in _TOKEN.finditer(text):
        part, at = found[0], found.start()
        level = levels[-1] if levels else None
        if part in "{[":
            if len(levels) == _DEEPEST:
                yield f"it is nested over {_DEEPEST} levels deep", at
                return
            levels.append(_Level(level.place() if level else "$", part == "{"))
        elif part in "}]":
            del levels[-1:]
        elif part == ",":
            if level:
                level.awaits_key = level.is_object
                level.index += 1
        elif part == ":" or part in _WORDS:
            continue
        elif level and level.awaits_key:
            level.awaits_key = False
            level.key = _text_of(part)
            yield from ((problem, at) for problem in _of_key(level, halves))
        else:
            place = level.place() if level and _may_be_odd(part) else "$"
            yield from ((f"{place}: {problem}", at) for problem in _of_value(part, halves))


def _text_of(part: str) -> str:
    return json.loads(part) if "\\" in part else part[1:-1]


def _of_key(level: _Level, halves: bool) -> Iterator[str]:
    key = level.key
    if level.keys.setdefault(key, 0) == 1:
        yield f"{level.path}: the key {json.dumps(key[:_LONGEST])} is there twice"
    level.keys[key] += 1
    if not halves and _SURROGATE.search(key):
        yield f"{level.path}: the key {json.dumps(key[:_LONGEST])} has half of a character"


def _may_be_odd(part: str) -> bool:
    """Whether a value has to be looked at: its path is made only then."""
    return part[0] != '"' or "\\u" in part or _SURROGATE.search(part) is not None


def _of_value(part: str, halves: bool) -> Iterator[str]:
    if part[0] == '"':
        if not halves and _may_be_odd(part) and (half := _SURROGATE.search(_text_of(part))):
            yield f"the text has half of a character, {half[0]!a}"
        return
    if not (part.lstrip("-").isdigit() or math.isfinite(number := float(part))):
        yield f"{json.dumps(number)} is not a number that JSON can hold"


def _step(key: str) -> str:
    short = key if len(key) <= _LONGEST else f"{key[:_LONGEST]}…"
    return f".{short}" if _PLAIN.fullmatch(short) else f"[{json.dumps(short)}]"


def is_nested_over(levels: int, value: object) -> bool:
    """Say whether lists and objects are nested deeper than so many levels.

    What contains itself is.
    """
    level: list[Any] = [value]
    for _ in range(levels + 1):
        # By identity: a value that contains itself twice would double with each level.
        level = [*{id(each): each for parent in level for each in _children(parent)}.values()]
    return bool(level)


def _children(parent: Any) -> list[Any]:
    if isinstance(parent, dict):
        return [*cast("dict[Any, Any]", parent).values()]
    return [*cast("list[Any]", parent)] if isinstance(parent, list | tuple) else []


def json_type(value: object) -> str:
    """Return the type that a JSON Schema calls a value by; "" for what JSON has none for."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case list() | tuple():
            return "array"
        case dict():
            return "object"
        case _:
            return ""


STEP_ID = re.compile(r"S[1-9][0-9]{0,5}")
"""What a step may be called: ASCII digits, and so few that each of them can be counted to."""
_MOST_SHOWN = 300


def describe(error: ValidationError, data: object = None) -> list[str]:
    """Say each problem of a validation error in one clause, naming the step where it has one."""
    problems = error.errors(include_url=False)
    within = {
        problem["loc"][:length] for problem in problems for length in range(len(problem["loc"]))
    }
    # A list that has a bad entry is reported as too short as well; the entry says it all.
    return [
        _clause(problem, data)
        for problem in problems
        if not (problem["type"] == "too_short" and problem["loc"] in within)
    ]


def _clause(problem: ErrorDetails, data: object) -> str:
    message = problem["msg"].removeprefix("Value error, ")
    path = list(problem["loc"])
    where = ".".join(map(str, path))
    if len(path) >= 2 and path[0] == "steps" and isinstance(path[1], int):
        where = ".".join([_step_name(data, path[1]), *map(str, path[2:])])
    value = problem["input"]
    shown = "" if isinstance(value, dict | list | tuple) else f" (got {_shown(value)})"
    return f"{where}: {message}{shown}" if where else message


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"


def _shown(value: object) -> str:
    try:
        return _cut(repr(value))
    except ValueError:
        return "a number of thousands of digits"


def _step_name(data: object, index: int) -> str:
    try:
        name = cast("Any", data)["steps"][index]["id"]
    except (KeyError, TypeError, IndexError):
        name = None
    is_name = isinstance(name, str) and STEP_ID.fullmatch(name)
    return f"step {name}" if is_name else f"step number {index + 1}"
