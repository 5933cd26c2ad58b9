"""The package's modules and who imports whom, read from the source."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

__all__ = ["ROOT", "Module", "circles", "imports", "modules"]

ROOT = Path(__file__).parents[2]
UPWARDS: dict[tuple[str, ...], set[tuple[str, ...]]] = {
    ("store", "result"): {("report", "run_html"), ("store", "outputs")}
}
"""Imports against the arrows that are meant: a result asks its page how it looks in a notebook, and
its folder what its steps made."""
_OUTSIDE = {"benches", "build", "dist", "docs", "examples", "tests"}

Module = tuple[str, ...]
"""A module's name below the package: `("flows", "swarm")`; a package is its `__init__`."""


@cache
def modules() -> dict[Module, Path]:
    """Return every module of the package and its file."""
    found: dict[Module, Path] = {}
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        if parts[0] in _OUTSIDE or any(part.startswith(".") for part in parts):
            continue
        found[parts[:-1] if parts[-1] == "__init__" else parts] = path
    return found


@cache
def imports(module: Module) -> frozenset[Module]:
    """Return what a module imports of the package: anywhere, for types alone or in a function."""
    path = modules()[module]
    package = module if path.name == "__init__.py" else module[:-1]
    tree = ast.parse(path.read_text("utf-8"))
    return frozenset(_imported(tree, package)) - {module} - UPWARDS.get(module, set())


def _imported(tree: ast.Module, package: Module) -> Iterator[Module]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = package[: len(package) - node.level + 1]
            base += tuple(node.module.split(".")) if node.module else ()
            for alias in node.names:
                yield (*base, alias.name) if (*base, alias.name) in modules() else base


def circles() -> list[list[str]]:
    """Return the modules that reach themselves by imports, one list for each circle."""
    reached = {module: _reached(module) for module in modules()}
    found: list[list[str]] = []
    left = [module for module in reached if module in reached[module]]
    while left:
        circle = [m for m in left if m in reached[left[0]] and left[0] in reached[m]]
        found.append([".".join(module) for module in circle])
        left = [module for module in left if module not in circle]
    return found


def _reached(module: Module) -> set[Module]:
    reached: set[Module] = set()
    front = [*imports(module)]
    while front:
        following = front.pop()
        if following not in reached:
            reached.add(following)
            front += imports(following)
    return reached
