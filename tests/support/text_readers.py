"""Every function of the package that reads a text and needs nothing else, found in the source."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Callable
from functools import cache
from typing import Any

from source_tree import Module, modules

__all__ = ["NAMED_AS_TEXT", "reads_text", "text_readers"]

_IS_PURE = re.compile(r"\bPure\.(?:\n\n|\Z)")
"""At the end of what a module says of itself, or of the first part of it."""
_TEXT, _BYTES = {"str", "str | bytes", "str | None"}, {"bytes"}
NAMED_AS_TEXT = frozenset({"body", "data", "line", "piece", "raw", "text", "words"})


@cache
def text_readers() -> dict[str, Callable[[str], Any]]:
    """Return the functions by their places; they are of modules that say that they are pure."""
    return {
        f"{'.'.join(module)}.{node.name}": _Reader(module, node.name, kind)
        for module, path in modules().items()
        if module[:2] != ("parl", "data")
        for tree in [ast.parse(path.read_text("utf-8"))]
        if _IS_PURE.search(ast.get_docstring(tree) or "")
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and (kind := _only_needs(node))
    }


def reads_text(module: Module) -> bool:
    """Whether a module has a function or method that takes a text to read."""
    tree = ast.parse(modules()[module].read_text("utf-8"))
    return any(
        each.arg in NAMED_AS_TEXT and each.annotation and ast.unparse(each.annotation) in _ANY
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        for each in (*node.args.posonlyargs, *node.args.args)
    )


_ANY = _TEXT | _BYTES


def _only_needs(function: ast.FunctionDef) -> str:
    given = [*function.args.posonlyargs, *function.args.args]
    needed = given[: len(given) - len(function.args.defaults)]
    if len(needed) != 1 or None in function.args.kw_defaults or needed[0].annotation is None:
        return ""
    kind = ast.unparse(needed[0].annotation)
    return kind if kind in _ANY else ""


class _Reader:
    def __init__(self, module: Module, name: str, kind: str) -> None:
        self._module, self._name, self._kind = module, name, kind

    def __call__(self, text: str) -> Any:
        module = importlib.import_module(".".join(("prefect_swarm", *self._module)))
        read = getattr(module, self._name)
        return read(text.encode() if self._kind in _BYTES else text)
