"""What can be told of a Python expression, or of what isn't one, without running it. Pure."""

from __future__ import annotations

import ast
import warnings

__all__ = ["NOT_READ", "expression_problem", "why_not_read"]

NOT_READ = (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError)
"""What Python raises for a text that it can't read as Python."""


_TOO_DEEP = "it is nested too deeply to be read"
_LONGEST = 20_000
_DEEPEST = 500
"""Levels of a tree: a sum of so many terms has so many."""


def why_not_read(error: BaseException) -> str:
    """Say in words why a text can't be read, by one of `NOT_READ`."""
    if isinstance(error, SyntaxError):
        return error.msg
    if isinstance(error, ValueError):
        return f"it can't be read as Python: {error}"
    return _TOO_DEEP


def _is_deep(tree: ast.AST) -> bool:
    """Whether a tree is so deep that compiling it takes more time than its length says."""
    level = [tree]
    for _ in range(_DEEPEST):
        level = [inner for outer in level for inner in ast.iter_child_nodes(outer)]
    return bool(level)


def expression_problem(text: str) -> str:
    """Say why a text is not a Python expression that tests something; "" if it is."""
    if len(text) > _LONGEST:
        return f"it is not a Python expression: it has over {_LONGEST:,} characters"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text.strip(), mode="eval")
            if _is_deep(tree):
                return f"it is not a Python expression: {_TOO_DEEP}"
            # Some mistakes, such as an `await` outside a function, are found only now.
            compile(text.strip(), "example", "eval", dont_inherit=True)
    except NOT_READ as error:
        return f"it is not a Python expression: {why_not_read(error)}"
    if not any(isinstance(node, ast.Name) for node in ast.walk(tree)):
        return "it uses no name, so it says nothing of the code"
    return ""
