"""What a statement of a module is: code, a test, a fixture. Pure."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator, Sequence
from typing import TypeGuard

from ...expression import NOT_READ

__all__ = [
    "FoundTest",
    "Function",
    "find_tests",
    "is_code",
    "is_fixture",
    "last_name",
    "module_level",
    "read_tree",
]

Function = ast.FunctionDef | ast.AsyncFunctionDef
FoundTest = tuple[str, Sequence[ast.ClassDef | Function]]
"""A test's name as pytest has it, and the classes that it is in, with the function last."""

_HELPERS = frozenset(("fixture", "composite"))
"""Decorators of what serves tests."""


def read_tree(text: str) -> ast.Module | None:
    """Return a text's tree, if it can be read."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text.encode())
    except NOT_READ:
        return None


def module_level(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Go through all statements that run in the module's own scope, or in a class's."""
    for node in body:
        yield node
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.stmt):
                yield from module_level([child])
            elif isinstance(child, ast.ExceptHandler | ast.match_case):
                yield from module_level(child.body)


def is_code(node: ast.stmt) -> bool:
    """Whether a statement defines a public function or class that isn't there for a test."""
    if isinstance(node, ast.ClassDef):
        return not node.name.startswith(("_", "Test")) and not _is_unittest(node)
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return not node.name.startswith(("_", "test_")) and not is_fixture(node)
    return False


def is_fixture(node: Function) -> bool:
    """Whether a function serves tests: a fixture, or a strategy of values."""
    return any(last_name(decorator) in _HELPERS for decorator in node.decorator_list)


def last_name(node: ast.expr) -> str:
    """Return the last part of what a name, or a call of it, says."""
    if isinstance(node, ast.Call):
        return last_name(node.func)
    return getattr(node, "attr", getattr(node, "id", ""))


def find_tests(
    body: Sequence[ast.stmt], within: Sequence[ast.ClassDef | Function] = ()
) -> Iterator[FoundTest]:
    """Go through a module's tests."""
    for node in body:
        if isinstance(node, ast.ClassDef):
            if _is_unittest(node) or node.name.startswith("Test"):
                yield from find_tests(node.body, (*within, node))
        elif _is_test(node):
            parts = (*within, node)
            yield "::".join(part.name for part in parts), parts


def _is_test(node: ast.stmt) -> TypeGuard[Function]:
    function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    return function and node.name.startswith("test_") and not is_fixture(node)


def _is_unittest(node: ast.ClassDef) -> bool:
    return any(last_name(base).endswith("TestCase") for base in node.bases)
