"""What code that is added to tests can reach of other tests and of the product. Pure."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass

from ..python.inspection import Function, last_name
from .file_parts import bound_names

__all__ = ["reach_problem"]

_SEARCHED = frozenset({"path", "modules", "meta_path", "path_hooks", "path_importer_cache"})
_CHANGES = frozenset(
    {"insert", "append", "extend", "clear", "pop", "remove", "update", "setdefault"}
    | {"__setitem__", "popitem", "reverse", "sort"}
)


def reach_problem(node: ast.stmt, taken: frozenset[str], imported: frozenset[str]) -> str:
    """Say what of a statement, at load or later, reaches tests that it isn't for.

    Args:
        taken: Names that mean something to existing tests of the file.
        imported: Names that the file imports.
    """
    if isinstance(node, ast.ClassDef):
        head = ast.Expr(ast.Tuple([*node.decorator_list, *node.bases], ast.Load()))
        problems = [reach_problem(each, taken, imported) for each in (head, *node.body)]
        return next(filter(None, problems), "")
    nodes = [*ast.walk(node)]
    own = {
        (alias.asname or alias.name).partition(".")[0]
        for each in nodes
        if isinstance(each, ast.Import | ast.ImportFrom)
        for alias in each.names
    }
    reach = _Reach(taken, _with_aliases(imported | own, nodes), _local(node) - own, imported)
    for each in nodes:
        if found := reach.problem(each):
            return found
    return ""


def _local(node: ast.stmt) -> set[str]:
    """Return the names that are a function's own."""
    if not isinstance(node, Function):
        return set()
    arguments = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
    shared = {
        name for each in ast.walk(node) if isinstance(each, ast.Global) for name in each.names
    }
    bound = {name for each in node.body for name in bound_names(each)}
    return ({argument.arg for argument in arguments} | bound) - shared


def _with_aliases(imported: frozenset[str], nodes: Iterable[ast.AST]) -> frozenset[str]:
    """Return names of what is imported, with those that are assigned from it."""
    found = set(imported)
    for node in nodes:
        if isinstance(node, ast.Assign | ast.NamedExpr) and _root(node.value) in found:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {each.id for each in targets if isinstance(each, ast.Name)} - imported
    return frozenset(found)


_OUTSIDE = "it changes something that it imports, or that tests there use"
_RUN = frozenset({"testsfailed", "pluginmanager", "shouldstop", "shouldfail"})
_ENDS = "it ends the process at once"


@dataclass(frozen=True, slots=True)
class _Reach:
    """What a statement can reach: `outside` is imported in it or before it, or an alias of that."""

    taken: frozenset[str]
    outside: frozenset[str]
    local: set[str]
    imported: frozenset[str]

    def problem(self, node: ast.AST) -> str:
        match node:
            case ast.Attribute(attr="_exit") | ast.Name(id="_exit") | ast.alias(name="_exit"):
                return _ENDS
            case ast.Attribute(attr="exit", value=ast.Name(id="pytest")):
                return _ENDS
            case ast.ImportFrom(module="pytest", names=names):
                return _ENDS if any(alias.name == "exit" for alias in names) else ""
            case ast.Global(names=names) if self.taken.intersection(names):
                return "it changes a name that tests there use"
            case ast.Call():
                return self._of_call(node)
            case ast.Attribute() | ast.Subscript():
                return self._of_place(node)
            case _:
                return ""

    def _of_place(self, node: ast.Attribute | ast.Subscript) -> str:
        if isinstance(node, ast.Attribute):
            is_session = node.attr == "session" and _root(node) == "request"
            if node.attr in _RUN or is_session:
                return "it reaches into the run of all tests"
        is_changed = isinstance(node.ctx, ast.Store | ast.Del)
        if is_changed and self._is_outside(node) and not _has_attribute(node, {"environ"}):
            return _OUTSIDE
        return ""

    def _is_outside(self, node: ast.expr) -> bool:
        root = _root(node)
        aliases = self.outside - self.imported
        return root in aliases or (root in self.outside | self.taken and root not in self.local)

    def _of_call(self, call: ast.Call) -> str:
        name, function = last_name(call.func), call.func
        if name in ("setattr", "delattr", "__setattr__") and call.args:
            # A fixture named monkeypatch takes back what it sets.
            is_undone = isinstance(function, ast.Attribute) and not self._is_outside(function)
            is_undone = is_undone and _root(function) != "object"
            return "" if is_undone or not self._is_outside(call.args[0]) else _OUTSIDE
        if name in _CHANGES and isinstance(function, ast.Attribute):
            return self._of_method(function)
        if name == "start" and isinstance(function, ast.Attribute):
            inner = function.value
            is_patch = isinstance(inner, ast.Call) and "patch" in _dotted(inner.func)
            return "it replaces something for other tests too" if is_patch else ""
        return "it replaces something for other tests too" if name == "MonkeyPatch" else ""

    def _of_method(self, function: ast.Attribute) -> str:
        root = _root(function)
        if root == "sys" and _has_attribute(function, _SEARCHED):
            return "it changes where modules come from"
        is_used = root in self.taken - self.imported - self.local
        return "it changes a name that tests there use" if is_used else ""


def _dotted(node: ast.expr) -> list[str]:
    names: list[str] = []
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        if isinstance(node, ast.Attribute):
            names.append(node.attr)
        node = node.func if isinstance(node, ast.Call) else node.value
    return [*names, node.id] if isinstance(node, ast.Name) else names


def _root(node: ast.expr) -> str:
    """Return the name that an attribute or an item is of; "" for what a call returned."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _has_attribute(node: ast.expr, names: frozenset[str] | set[str]) -> bool:
    return bool(names.intersection(_dotted(node)))
