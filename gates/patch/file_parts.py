"""A Python file as its parts: what each name stands for, and what else runs at load. Pure."""

from __future__ import annotations

import ast
import hashlib
import inspect
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...plan.output import NOT_READ, why_not_read
from ..python.inspection import last_name

__all__ = [
    "LARGEST",
    "FilePart",
    "FileParts",
    "bound_names",
    "form_of",
    "loaded_names",
    "parametrized",
    "parts_of",
    "read_parts",
    "read_source",
]

LARGEST = 1 << 20
"""Bytes of a file that is compared."""
_TOO_LARGE = f"it has over {LARGEST:,} bytes"
_LOCAL = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@dataclass(frozen=True, slots=True)
class FilePart:
    """A statement. Statements that differ in layout and comments alone have the same form."""

    node: ast.stmt
    form: str


@dataclass(frozen=True, slots=True)
class FileParts:
    """The statements of a file, or of a class.

    Attributes:
        names: The statements that bind each name, in their order.
        acts: The statements that bind no name.
        mentioned: The names that it has anywhere.
        case_lists: Names that stand for cases of parametrized tests, and for nothing else.
    """

    names: Mapping[str, tuple[FilePart, ...]] = field(default_factory=dict[str, Any])
    acts: tuple[FilePart, ...] = ()
    mentioned: frozenset[str] = frozenset()
    case_lists: frozenset[str] = frozenset()


def read_source(data: bytes) -> ast.Module | str:
    """Return a file's tree, or why it can't be read."""
    if len(data) > LARGEST:
        return _TOO_LARGE
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(data)
    except NOT_READ as error:
        return why_not_read(error)


def read_parts(data: bytes) -> FileParts | str:
    """Return a file's parts, or why it can't be read."""
    tree = read_source(data)
    if isinstance(tree, str):
        return tree
    try:
        _without_layout(tree)
        return parts_of(tree.body, _mentioned(tree), _case_lists(tree))
    except NOT_READ as error:
        return why_not_read(error)


def _without_layout(tree: ast.Module) -> None:
    """Drop docstrings, `pass` and the prefix of `u""`: nothing is another thing without them."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant):
            node.kind = None
        for name in ("body", "orelse", "finalbody"):
            held: list[ast.stmt] | ast.expr = getattr(node, name, [])
            if isinstance(held, list) and held:
                setattr(node, name, [each for each in held if not _says_nothing(each)])


def _says_nothing(node: ast.AST) -> bool:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        text = node.value.value
        if not isinstance(text, str) or ">>>" not in text:
            return True
        node.value.value = inspect.cleandoc(text)
    return isinstance(node, ast.Pass)


def _mentioned(tree: ast.AST) -> frozenset[str]:
    nodes = [*ast.walk(tree)]
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    return frozenset(names | {node.arg for node in nodes if isinstance(node, ast.arg)})


def loaded_names(nodes: Iterable[ast.AST]) -> Counter[str]:
    """Count the names that are read in these nodes."""
    return Counter(
        each.id
        for node in nodes
        for each in ast.walk(node)
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)
    )


def parametrized(nodes: Iterable[ast.AST]) -> list[ast.Call]:
    """Return the calls of `parametrize` among decorators."""
    return [
        node for node in nodes if isinstance(node, ast.Call) and last_name(node) == "parametrize"
    ]


def _case_lists(tree: ast.Module) -> frozenset[str]:
    decorators = (
        decorator
        for node in ast.walk(tree)
        if isinstance(node, _DEFINITIONS)
        for decorator in node.decorator_list
    )
    of_cases = loaded_names(parametrized(decorators))
    of_all = loaded_names([tree])
    return frozenset(name for name, count in of_cases.items() if count == of_all[name])


def parts_of(
    body: Sequence[ast.stmt],
    mentioned: frozenset[str] = frozenset(),
    case_lists: frozenset[str] = frozenset(),
) -> FileParts:
    """Return the parts that statements are."""
    names: dict[str, list[FilePart]] = {}
    acts: list[FilePart] = []
    for bound, node in (each for statement in body for each in _split(statement)):
        part = FilePart(node, form_of(node))
        for name in bound:
            held = names.setdefault(name, [])
            # To import the same thing twice changes nothing.
            if not (isinstance(node, ast.Import | ast.ImportFrom) and part.form in _forms(held)):
                held.append(part)
        if not bound:
            acts.append(part)
    whole = {name: tuple(parts) for name, parts in names.items()}
    return FileParts(whole, tuple(acts), mentioned, case_lists)


def _forms(parts: Iterable[FilePart]) -> list[str]:
    return [part.form for part in parts]


def _split(statement: ast.stmt) -> Iterator[tuple[tuple[str, ...], ast.stmt]]:
    """Return each import of a statement with its name; any other statement as a whole.

    The name of `import a.b` is `a.b`: several of them bind `a` to the same module.
    """
    if isinstance(statement, ast.Import):
        for alias in statement.names:
            yield (alias.asname or alias.name,), ast.copy_location(ast.Import([alias]), statement)
    elif isinstance(statement, ast.ImportFrom):
        for alias in statement.names:
            alone = ast.ImportFrom(statement.module, [alias], statement.level)
            names = () if alias.name == "*" else (alias.asname or alias.name,)
            yield names, ast.copy_location(alone, statement)
    else:
        yield tuple(dict.fromkeys(bound_names(statement))), statement


def bound_names(statement: ast.stmt) -> Iterator[str]:
    """Go through the names that a statement binds where it stands, however deep within it."""
    pending: list[ast.AST] = [statement]
    while pending:
        node = pending.pop()
        if isinstance(node, _LOCAL):
            pending += [each.target for each in ast.walk(node) if isinstance(each, ast.NamedExpr)]
            continue
        if name := _name_of(node):
            yield name
        if isinstance(node, _DEFINITIONS):
            pending += [*node.decorator_list, *_head(node)]
        else:
            pending += ast.iter_child_nodes(node)


def _head(node: ast.AST) -> list[ast.AST]:
    """Return what is worked out where a function or class is defined, but for its decorators."""
    if isinstance(node, ast.ClassDef):
        return [*node.bases, *node.keywords]
    return [node.args] if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else []


def _name_of(node: ast.AST) -> str | None:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return name
        case ast.Name(id=name, ctx=ast.Store()):
            return name
        case ast.alias(name=name, asname=other):
            return other or name.partition(".")[0]
        case ast.ExceptHandler(name=name) | ast.MatchAs(name=name) | ast.MatchStar(name=name):
            return name
        case ast.MatchMapping(rest=name):
            return name
        case _:
            return None


_END = object()


def form_of(*nodes: ast.AST | None) -> str:
    """Return what is the same for the same nodes; it goes as deep as they do without recursion."""
    written: list[str] = []
    pending: list[Any] = [*reversed(nodes)]
    while pending:
        item = pending.pop()
        if item is _END:
            written.append(")")
        elif isinstance(item, ast.AST):
            written.append(f"{type(item).__name__}(")
            pending.append(_END)
            pending += [getattr(item, name, None) for name in reversed(item._fields)]
        elif isinstance(item, list):
            written.append("(")
            pending.append(_END)
            pending += reversed(item)  # pyright: ignore[reportUnknownArgumentType]
        else:
            written.append(f"{type(item).__name__}:{item!r}")
    return hashlib.sha256("\n".join(written).encode()).hexdigest()
