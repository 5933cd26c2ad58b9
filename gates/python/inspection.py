"""Static inspection of a Python text: statements, tests, examples, platforms. Pure."""

from __future__ import annotations

import ast
import builtins
import doctest
import symtable
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple, TypeGuard

from ...plan.output import NOT_READ, why_not_read
from ..base import Diagnostic
from ..source import NO_CODE, says_nothing

__all__ = [
    "DOCTEST",
    "Doctest",
    "Facts",
    "FoundTest",
    "Function",
    "Import",
    "doctests",
    "elsewhere",
    "find_tests",
    "is_code",
    "is_fixture",
    "last_name",
    "module_level",
    "read",
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
    # What doctest can't read, such as a quoted mail, is not an example.
    with suppress(ValueError):
        examples = doctest.DocTestParser().get_examples(text)
        return any(not example.options.get(doctest.SKIP) for example in examples)
    return False


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


_PREDEFINED = frozenset(dir(builtins)) | {"__file__", "__path__", "__builtins__", "__annotations__"}


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
    return frozenset(used - bound - _PREDEFINED)


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
