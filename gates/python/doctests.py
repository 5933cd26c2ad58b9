"""The examples in a Python text's docstrings, which are tests of it. Pure."""

from __future__ import annotations

import ast
import doctest
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

__all__ = ["DOCTEST", "Doctest", "doctests"]

DOCTEST = "doctest of "
"""What the name of each begins with."""

_Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


class Doctest(NamedTuple):
    """A docstring with examples: its name as a test, the line it begins in, and its text."""

    name: str
    line: int
    text: str


def doctests(tree: ast.Module) -> tuple[Doctest, ...]:
    """Find the docstrings with examples that are to be run, in the module and all it defines."""
    found = {made.name: made for made in _doctests(tree, "")}
    return tuple(found.values())


def _doctests(node: _Documented, name: str) -> Iterator[Doctest]:
    text = ast.get_docstring(node, clean=False)
    if text is not None and _has_examples(text):
        yield Doctest(f"{DOCTEST}{name or 'the module'}", node.body[0].lineno, text)
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        for child in node.body:
            if isinstance(child, _Documented):
                yield from _doctests(child, f"{name}.{child.name}".lstrip("."))


def _has_examples(text: str) -> bool:
    # What doctest can't read, such as a quoted mail, is no example.
    with suppress(ValueError):
        examples = doctest.DocTestParser().get_examples(text)
        return any(not example.options.get(doctest.SKIP) for example in examples)
    return False
