"""Which tests say themselves that they are for another platform, or another Python. Pure."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

from .statements import Function, find_tests, last_name, module_level

__all__ = ["elsewhere"]

_MODULES = frozenset(("sys", "os", "platform"))
_ATTRIBUTES = frozenset(
    ("platform", "version_info", "implementation", "hexversion", "name", "system", "machine")
) | frozenset(("release", "python_version", "python_implementation", "architecture"))
_SKIPS = frozenset(("skip", "skipif", "skipIf", "skipUnless", "skipTest", "SkipTest"))


def elsewhere(tree: ast.Module) -> Iterator[str]:
    """Find the tests that are skipped by what `sys`, `os` or `platform` say of the machine.

    The condition may be a decorator of theirs or of a class around them, a mark of one of their
    parameters, the module's `pytestmark`, or an `if` in them; and it may have a name.
    """
    known = _names(tree)
    whole = any(_assigns(node, "pytestmark") and _skips(node, known) for node in tree.body)
    for name, parts in find_tests(tree.body):
        *classes, function = parts
        decorators = [mark for part in parts for mark in part.decorator_list]
        marks = [node for kind in classes for node in kind.body if _assigns(node, "pytestmark")]
        found = any(_skips(node, known) for node in (*decorators, *marks))
        if whole or found or _skips_within(function, known):
            yield name


def _names(tree: ast.Module) -> frozenset[str]:
    """Return the names that the module gives to such conditions, and to marks with them."""
    known: set[str] = set()
    for node in module_level(tree.body):
        if isinstance(node, ast.ImportFrom) and node.module in _MODULES:
            known |= {a.asname or a.name for a in node.names if a.name in _ATTRIBUTES}
        elif isinstance(node, ast.Assign) and _asks(node.value, known):
            known |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return frozenset(known)


def _assigns(node: ast.stmt, name: str) -> bool:
    targets = node.targets if isinstance(node, ast.Assign) else ()
    return any(isinstance(target, ast.Name) and target.id == name for target in targets)


def _asks(node: ast.AST, known: Iterable[str]) -> bool:
    """Whether something looks at the platform."""
    for part in ast.walk(node):
        match part:
            case ast.Attribute(value=ast.Name(id=module), attr=name):
                if module in _MODULES and name in _ATTRIBUTES:
                    return True
            case ast.Name(id=name) if name in known:
                return True
            case _:
                pass
    return False


def _skips(node: ast.AST, known: Iterable[str]) -> bool:
    """Whether a decorator, or a list of marks, skips by the platform."""
    if isinstance(node, ast.Name | ast.Attribute):
        return isinstance(node, ast.Name) and node.id in known
    calls = [part for part in ast.walk(node) if isinstance(part, ast.Call)]
    if any(last_name(call) in _SKIPS and _asks(call, known) for call in calls):
        return True
    return any(isinstance(part, ast.Name) and part.id in known for part in ast.walk(node))


def _skips_within(node: ast.ClassDef | Function, known: Iterable[str]) -> bool:
    ifs = (part for part in ast.walk(node) if isinstance(part, ast.If))
    return any(_asks(part.test, known) and _has_skip(part.body) for part in ifs)


def _has_skip(body: Sequence[ast.stmt]) -> bool:
    walked = (part for node in body for part in ast.walk(node))
    return any(isinstance(part, ast.Call) and last_name(part) in _SKIPS for part in walked)
