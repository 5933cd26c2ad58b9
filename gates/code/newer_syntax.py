"""Syntax of a newer Python than this one: the reader is told which Python this is."""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from typing import Any

from ...errors import GateError
from ..result import Diagnostic
from ..tool import find_tool, run_tool

__all__ = ["LANGUAGE", "explain", "this_python"]

LANGUAGE = f"--target-version=py{sys.version_info[0]}{sys.version_info[1]}"
"""ruff's option for the Python that a program will run on."""
_NEWER = "syntax was added in Python"


def this_python(message: str) -> str:
    """Add this Python's version to what ruff says of newer syntax."""
    version = ".".join(map(str, sys.version_info[:3]))
    return f"{message}; this is Python {version}" if _NEWER in message else message


async def explain(text: str, problem: Diagnostic) -> Diagnostic:
    """Return a better account of a mistake in syntax where a newer Python would read the text."""
    argv = ("check", "--isolated", "--no-cache", "--output-format=json", "--select=E9", LANGUAGE)
    found: list[dict[str, Any]] = []
    with suppress(GateError, ValueError):
        output = await run_tool((find_tool("ruff", "ruff"), *argv, "-"), text)
        found = json.loads(output.stdout or "[]")
    for mistake in found:
        if _NEWER in mistake["message"]:
            place = mistake["location"]
            return problem.model_copy(
                update={
                    "message": this_python(mistake["message"]),
                    "line": place["row"],
                    "column": place["column"],
                }
            )
    return problem
