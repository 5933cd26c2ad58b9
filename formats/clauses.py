"""What is wrong with a value, each problem in a clause that names the place. Pure."""

from __future__ import annotations

import re
from typing import Any, cast

from pydantic import ValidationError
from pydantic_core import ErrorDetails

__all__ = ["STEP_ID", "describe"]

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
    given = "" if isinstance(value, dict | list | tuple) else f" (got {_shown(value)})"
    return f"{where}: {message}{given}" if where else message


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
