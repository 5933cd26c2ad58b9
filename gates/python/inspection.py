"""What a Python text says without being run: tests, names, what it imports. Pure."""

from __future__ import annotations

import ast
import builtins
import symtable
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ...expression import NOT_READ, why_not_read
from ..code.source import NO_CODE, says_nothing
from ..result import Diagnostic
from .doctests import Doctest, doctests
from .elsewhere import elsewhere
from .statements import find_tests, is_code, module_level

__all__ = ["Facts", "Import", "read"]

_GIVEN = frozenset(dir(builtins)) | {"__file__", "__path__", "__builtins__", "__annotations__"}


class Import(NamedTuple):
    """An absolute import: the module, and the names of it that are used."""

    module: str
    names: frozenset[str]


@dataclass(frozen=True, slots=True)
class Facts:
    """What a Python text has.

    Attributes:
        lines: The line of each name that the module defines itself; imports aren't among them.
        code: Whether it has a public function or class that isn't there for a test.
        tests: Its tests as pytest names them, `test_a` or `TestB::test_c`.
        doctests: Its docstrings with examples.
        elsewhere: Those tests that say that they are for another platform or Python.
        imports: Its absolute imports, in their order.
        free: The names that it uses and that nothing in it, nor Python, defines.
        head: The line after which a statement can be put in; 0 is before the first line.
    """

    lines: Mapping[str, int] = field(default_factory=dict[str, int])
    code: bool = False
    tests: tuple[str, ...] = ()
    doctests: tuple[Doctest, ...] = ()
    elsewhere: frozenset[str] = frozenset()
    imports: tuple[Import, ...] = ()
    free: frozenset[str] = frozenset()
    head: int = 0


def read(text: str) -> Facts | Diagnostic:
    """Read a Python text, or say where it isn't one."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            source = text.encode()
            tree = ast.parse(source)
            # Some mistakes, such as a return outside a function, are found only now.
            compile(source, "artifact", "exec", dont_inherit=True)
            return _facts(tree, _free_names(source))
    except NOT_READ as error:
        return _problem(error)


def _problem(error: BaseException) -> Diagnostic:
    line = error.lineno if isinstance(error, SyntaxError) else None
    column = error.offset or None if isinstance(error, SyntaxError) else None
    return Diagnostic(message=why_not_read(error), line=line, column=column, code="SyntaxError")


def _facts(tree: ast.Module, free: frozenset[str]) -> Facts | Diagnostic:
    if says_nothing(tree):
        return Diagnostic(message=NO_CODE)
    statements = list(module_level(tree.body))
    return Facts(
        lines={name: node.lineno for node in reversed(statements) for name in _defined(node)},
        code=any(is_code(node) for node in statements),
        tests=tuple(dict.fromkeys(name for name, _ in find_tests(tree.body))),
        doctests=doctests(tree),
        elsewhere=frozenset(elsewhere(tree)),
        imports=_imports(tree, free),
        free=free,
        head=_head(tree.body),
    )


def _defined(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
    targets: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, ast.AnnAssign) and node.value is not None:
        targets = [node.target]
    for target in targets:
        for part in ast.walk(target):
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                yield part.id


def _imports(tree: ast.Module, free: frozenset[str]) -> tuple[Import, ...]:
    attributes: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            attributes.setdefault(_dotted(node.value), set()).add(node.attr)
    found: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                used = attributes.get(alias.asname or alias.name, set[str]())
                found.setdefault(alias.name, set()).update(used)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names = {alias.name for alias in node.names}
            found.setdefault(node.module, set()).update(free if "*" in names else names)
    return tuple(Import(module, frozenset(names)) for module, names in found.items())


def _dotted(node: ast.expr) -> str:
    parts: list[str] = []
    while isinstance(node, ast.Attribute) and len(parts) < 8:
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


def _free_names(source: bytes) -> frozenset[str]:
    top = symtable.symtable(source, "artifact", "exec")  # pyright: ignore[reportArgumentType] - it takes bytes
    bound = {name.get_name() for name in top.get_symbols() if _binds(name)}
    used: set[str] = set()
    tables = [top]
    while tables:
        table = tables.pop()
        tables += table.get_children()
        for name in table.get_symbols():
            if table is not top and not name.is_global():
                continue
            if _binds(name):
                bound.add(name.get_name())
            elif name.is_referenced():
                used.add(name.get_name())
    return frozenset(used - bound - _GIVEN)


def _binds(name: symtable.Symbol) -> bool:
    return name.is_assigned() or name.is_imported()


def _head(body: Sequence[ast.stmt]) -> int:
    line = 0
    for node in body:
        is_docstring = (
            line == 0
            and isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        )
        is_future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
        if not (is_docstring or is_future):
            break
        line = node.end_lineno or line
    return line
