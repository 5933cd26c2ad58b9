"""Code whose functions do nothing any more: tests that still pass then test nothing. Pure.

Each body becomes a call of `STUB`, which the sandbox defines: it gives a value that has nothing to
do with the arguments. Tests, fixtures and what only tests use stay as they are.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence

from ...plan.output import NOT_READ
from .inspection import Function, is_code, is_fixture, last_name, module_level, read_tree
from .layout import Layout, Placed

__all__ = ["STUB", "emptied", "empty"]

STUB = "__emptied__"

_GIVES_NOTHING = frozenset(
    ("__init__", "__post_init__", "__init_subclass__", "__set_name__", "__del__")
) | frozenset(("__exit__", "__aexit__"))
_OF_TESTS = ("test", "setUp", "tearDown", "asyncSetUp", "asyncTearDown")
_DATA_DECORATORS = frozenset(("dataclass", "define", "frozen", "mutable", "attrs"))
_DATA_BASES = frozenset(("BaseModel",))


def emptied(layout: Layout, tests: Sequence[Placed]) -> Mapping[str, str]:
    """Return the texts, by path, that the code under test becomes; none if there is no such code.

    The code is the artifact's own: the files without tests, else those with. Tests without code
    of their own are held against the code of other steps that they use.

    Args:
        tests: The artifact's own pieces that hold tests.
    """
    used = frozenset(name for placed in tests for name in _named_by_tests(placed))
    pieces = _under_test(layout)
    texts = {placed.path: empty(placed.text, used) for placed in pieces}
    return {path: text for path, text in texts.items() if text is not None}


def empty(text: str, used: frozenset[str] = frozenset()) -> str | None:
    """Return a module without the bodies of its functions; None if it has none, or can't be read.

    Args:
        used: The names that tests use: a private function among them is emptied too, if the
            module's own code uses it.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text.encode())
            private = used & _named(node for node in tree.body if not _is_of_tests(node))
            changes = sum(_empty(node, private) for node in module_level(tree.body))
            return ast.unparse(ast.fix_missing_locations(tree)) if changes else None
    except NOT_READ:
        return None


def _under_test(layout: Layout) -> list[Placed]:
    own = [at for at, placed in enumerate(layout.placed) if placed.piece.own]
    code = [at for at in own if layout.placed[at].piece.facts.code]
    alone = [at for at in code if not layout.placed[at].piece.facts.tests]
    linked = sorted({other for at, other in layout.links if at in own and other not in own})
    of_others = [at for at in linked if layout.placed[at].piece.facts.code]
    return [layout.placed[at] for at in alone or code or of_others]


def _named_by_tests(placed: Placed) -> frozenset[str]:
    tree = read_tree(placed.text)
    return frozenset() if tree is None else _named(filter(_is_of_tests, tree.body))


def _is_of_tests(node: ast.stmt) -> bool:
    """Whether a statement of a module is a test; what isn't a function or class, is not."""
    if isinstance(node, ast.ClassDef):
        return not is_code(node) and not node.name.startswith("_")
    function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    return function and (node.name.startswith("test_") or is_fixture(node))


def _named(nodes: Iterable[ast.stmt]) -> frozenset[str]:
    walked = (part for node in nodes for part in ast.walk(node))
    return frozenset(
        part.id if isinstance(part, ast.Name) else part.attr
        for part in walked
        if isinstance(part, ast.Name | ast.Attribute)
    )


def _empty(node: ast.stmt, private: frozenset[str]) -> int:
    """Empty what a statement defines, and return the number of changes."""
    if isinstance(node, ast.ClassDef):
        return _empty_class(node, private) if is_code(node) else 0
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        if is_code(node) or node.name in private or _is_registered(node):
            return _empty_function(node)
    elif isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Lambda):
        node.value.body = _call()
        return 1
    return 0


def _empty_class(node: ast.ClassDef, private: frozenset[str]) -> int:
    changes = 0
    for child in module_level(node.body):
        if isinstance(child, ast.ClassDef):
            changes += _empty_class(child, private)
        elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            hidden = child.name.startswith("_") and not child.name.endswith("__")
            of_tests = child.name.startswith(_OF_TESTS) or is_fixture(child)
            if not of_tests and (not hidden or child.name in private):
                changes += _empty_function(child)
    if _is_data(node) and not any(_name(child) == "__new__" for child in node.body):
        # What a decorator or a base adds can't be emptied; an instance isn't made at all then.
        node.body.append(_new())
        changes += 1
    return changes


def _empty_function(node: Function) -> int:
    docstring = node.body[:1] if ast.get_docstring(node) is not None else []
    if _is_generator(node):
        body: ast.stmt = ast.Expr(ast.Yield(_call()))
    elif node.name in _GIVES_NOTHING:
        body = ast.Expr(_call())
    else:
        body = ast.Return(_call())
    node.body = [*docstring, body]
    return 1


def _is_generator(node: Function) -> bool:
    return any(isinstance(part, ast.Yield | ast.YieldFrom) for part in _own_parts(node.body))


def _own_parts(body: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """Go through what a function holds, but not into functions and classes within."""
    parts = list(body)
    while parts:
        part = parts.pop()
        yield part
        if not isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            parts += ast.iter_child_nodes(part)


def _is_registered(node: Function) -> bool:
    """Whether it is an implementation of a `singledispatch` function."""
    return any(last_name(decorator) == "register" for decorator in node.decorator_list)


def _is_data(node: ast.ClassDef) -> bool:
    decorated = any(last_name(decorator) in _DATA_DECORATORS for decorator in node.decorator_list)
    return decorated or any(last_name(base) in _DATA_BASES for base in node.bases)


def _name(node: ast.stmt) -> str:
    return node.name if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else ""


def _call() -> ast.expr:
    return ast.Call(ast.Name(STUB, ast.Load()), [], [])


def _new() -> ast.stmt:
    return ast.parse(f"def __new__(cls, *args, **kwargs):\n    return {STUB}()").body[0]
