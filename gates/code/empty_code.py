"""Code that is there and does nothing: only comments, or not even those. Pure."""

from __future__ import annotations

import ast
import warnings

from ...expression import NOT_READ, why_not_read

__all__ = [
    "NO_CODE",
    "NO_COMMAND",
    "says_nothing",
    "unreadable",
    "without_code",
    "without_command",
]

NO_CODE = "there is no code in it"
NO_COMMAND = "there is no command in it"


def without_command(script: str) -> bool:
    """Whether a shell script has no command."""
    lines = (line.strip(" \t\r\\") for line in script.split("\n"))
    return all(not line or line.startswith("#") for line in lines)


def without_code(text: str) -> bool:
    """Whether a Python text does and defines nothing; what can't be read isn't judged here."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return says_nothing(ast.parse(text.encode()))
    except NOT_READ:
        return False


def unreadable(text: str) -> str:
    """Say why a Python text isn't for a tool: it has no code, or is nested beyond all measure.

    Where it isn't Python the tool knows best; deeper than Python itself reads it may break down.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return NO_CODE if says_nothing(ast.parse(text.encode())) else ""
    except (RecursionError, MemoryError) as error:
        return why_not_read(error)
    except NOT_READ:
        return ""


def says_nothing(tree: ast.Module) -> bool:
    """Whether a module has no more than comments, texts and `pass`."""
    return all(
        isinstance(node, ast.Pass)
        or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
        for node in tree.body
    )
