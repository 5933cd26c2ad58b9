"""What can be told of a Python expression, or of what isn't one, without running it. Pure."""

from __future__ import annotations

import ast
import warnings

__all__ = ["NOT_READ", "expression_problem", "why_not_read"]

NOT_READ = (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError)
"""What Python raises for a text that it can't read as Python."""


def why_not_read(error: BaseException) -> str:
    """Say in words why a text can't be read, by one of `NOT_READ`."""
    if isinstance(error, SyntaxError):
        return error.msg
    if isinstance(error, ValueError):
        return f"it can't be read as Python: {error}"
    return "it is nested too deeply to be read"


def expression_problem(text: str) -> str:
    """Say why a text is not a Python expression that tests something; "" if it is."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text.strip(), mode="eval")
            # Some mistakes, such as an `await` outside a function, are found only now.
            compile(text.strip(), "example", "eval", dont_inherit=True)
    except NOT_READ as error:
        return f"it is not a Python expression: {why_not_read(error)}"
    if not any(isinstance(node, ast.Name) for node in ast.walk(tree)):
        return "it uses no name, so it says nothing of the code"
    return ""
