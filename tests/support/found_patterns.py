"""Every regular expression of the package: those that its modules hold, and those within calls."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any

from source_tree import Module, modules

__all__ = ["Found", "modules_that_match", "patterns_of"]

_CALLS = {"compile", "match", "search", "sub", "subn", "split", "findall", "finditer", "fullmatch"}
_IMPORTS_RE = re.compile(r"^\s*(?:import re$|from re import)", re.MULTILINE)
_AT_ITS_PLACE = {"match", "fullmatch"}


@dataclass(frozen=True)
class Found:
    """A regular expression.

    Attributes:
        place: Where it stands: the module, and the name or the line there.
        pattern: The expression; None if a call makes it of what only that call has.
        methods: What is called on it; "search" where that can't be seen.
    """

    place: str
    pattern: re.Pattern[Any] | None
    methods: frozenset[str]

    def use(self, text: Any) -> None:
        """Do with a text what the package does."""
        assert self.pattern
        for method in self.methods:
            if method in _AT_ITS_PLACE:
                getattr(self.pattern, method)(text)
            else:
                for _ in self.pattern.finditer(text):
                    pass


@cache
def modules_that_match() -> list[Module]:
    """Return the modules that have regular expressions; none of them is imported for it."""
    return [
        module for module, path in modules().items() if _IMPORTS_RE.search(path.read_text("utf-8"))
    ]


def patterns_of(module: Module) -> list[Found]:
    """Return all regular expressions of a module."""
    loaded = importlib.import_module(".".join(("prefect_swarm", *module)))
    tree = _tree(module)
    held = [*_held(module, loaded, _methods(tree))]
    known = {each.pattern for each in held}
    return [*held, *(each for each in _called(module, tree, loaded) if each.pattern not in known)]


def _tree(module: Module) -> ast.Module:
    return ast.parse(modules()[module].read_text("utf-8"))


@cache
def _imported() -> frozenset[str]:
    """Names that one module takes from another: what is done with them can't be seen in one."""
    return frozenset(
        alias.name
        for module in modules_that_match()
        for node in ast.walk(_tree(module))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    )


def _held(module: Module, loaded: ModuleType, methods: Mapping[str, set[str]]) -> Iterator[Found]:
    """The expressions in a module's names: values, parts of tuples, fields of classes."""
    seen: set[int] = set()
    for name, value in [*vars(loaded).items()]:
        if name.startswith("__"):
            continue
        for pattern in _within(value, loaded.__name__, seen):
            is_seen = pattern is value and name in methods and name not in _imported()
            used = frozenset(methods[name] if is_seen else {"search"})
            yield Found(f"{'.'.join(module)}.{name}", pattern, used)


def _within(value: Any, module: str, seen: set[int]) -> Iterator[re.Pattern[Any]]:
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, Mapping):
        for part in [*value.keys(), *value.values()]:
            yield from _within(part, module, seen)
    elif isinstance(value, (list, tuple, set, frozenset)):
        for part in value:
            yield from _within(part, module, seen)
    elif getattr(value, "__module__", None) == module:
        fields = getattr(value, "__dict__", None) or {
            name: getattr(value, name, None) for name in getattr(type(value), "__slots__", ())
        }
        for part in [*fields.values()]:
            yield from _within(part, module, seen)


def _methods(tree: ast.Module) -> dict[str, set[str]]:
    """Return what is done with each name: its methods, and "search" for anything else."""
    found: dict[str, set[str]] = {}
    called: set[int] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id=name) as own, attr=method) if method in _CALLS:
                found.setdefault(name, set()).add(method)
                called.add(id(own))
            case ast.Name(id=name, ctx=ast.Load()) if id(node) not in called:
                found.setdefault(name, set()).add("search")
            case _:
                pass
    return found


def _called(module: Module, tree: ast.Module, loaded: ModuleType) -> Iterator[Found]:
    """The expressions in calls such as `re.search("…", text)` within functions."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="re"), attr=method), args=[first, *_]
            ) if method in _CALLS:
                place = f"{'.'.join(module)}:{ast.unparse(node)}"
                yield Found(place, _value(first, node, loaded), frozenset({method}))
            case _:
                pass


def _value(first: ast.expr, call: ast.Call, loaded: ModuleType) -> re.Pattern[Any] | None:
    """Work an expression out with the module's own names; None if a function's are needed."""
    flags = [keyword.value for keyword in call.keywords if keyword.arg == "flags"]
    if isinstance(call.func, ast.Attribute):
        at = {"sub": 4, "subn": 4, "split": 3, "compile": 1}.get(call.func.attr, 2)
        flags += call.args[at : at + 1]
    try:
        source = _evaluated(first, loaded)
        if isinstance(source, re.Pattern):
            return source
        return re.compile(source, _evaluated(flags[0], loaded) if flags else 0)
    except NameError:
        return None


def _evaluated(node: ast.expr, loaded: ModuleType) -> Any:
    code = compile(ast.Expression(node), loaded.__name__, "eval")
    return eval(code, dict(vars(loaded)))  # noqa: S307 - the package's own source
