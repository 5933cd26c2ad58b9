"""Signs that a product's code does something else when it is tested. Pure."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping

from ..python.inspection import last_name
from .file_parts import LARGEST, form_of, read_source

__all__ = ["product_problems"]

_TOOLS = frozenset({"pytest", "_pytest", "unittest", "nose"})
_WORDS = frozenset({*_TOOLS, "py.test", "unittest.mock", "conftest", "conftest.py"})
_LOOKUPS = frozenset(
    {"modules", "argv", "orig_argv", "_getframe", "_current_frames", "stack", "currentframe"}
    | {"extract_stack", "walk_stack", "find_spec"}
)
_PYTEST_VARIABLE = "PYTEST_"
_CALLED = "_called_from_test"
_ENDS = frozenset({"exit", "quit", "SystemExit", "SkipTest", "execv", "execve", "execl", "execvp"})
_MAIN = form_of(ast.parse('__name__ == "__main__"', mode="eval").body)

_LOOKS = "product code that looks for tests"
_STOPS = "product code that ends the process of its tests"


def product_problems(
    old: Mapping[str, bytes | None], new: Mapping[str, bytes | None]
) -> Iterator[tuple[str, str]]:
    """Go through the paths of product code with new signs, and what they are.

    Args:
        old: The changed files of Python that are no tests; None where there was none.
        new: What they are now. Signs of a file that is gone may be in another one.
    """
    before = {path: _signs(path, data) for path, data in old.items()}
    gone: Counter[str] = Counter()
    for path, data in new.items():
        if data is None:
            gone.update(before.get(path, Counter()))
    for path, data in sorted(new.items()):
        if data is not None and len(data) > LARGEST:
            yield path, f"product code that can't be compared: it has over {LARGEST:,} bytes"
        added = _signs(path, data) - before.get(path, Counter())
        moved = added & gone
        gone -= moved
        for sign in sorted(added - moved):
            yield path, sign


def _signs(path: str, data: bytes | None) -> Counter[str]:
    if data is None or isinstance(tree := read_source(data), str):  # Others say so.
        return Counter()
    nodes = [*ast.walk(tree)]
    documents = {
        id(node.value)
        for node in nodes
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    nodes = [node for node in nodes if id(node) not in documents]
    found = Counter(sign for node in nodes for sign in _signs_of(node))
    looks_up = any(_last(node) in _LOOKUPS for node in nodes)
    words = sum(_text(node) in _WORDS for node in nodes)
    if looks_up and words:
        found[f"{_LOOKS}: it looks whether a test tool is loaded"] += words
    if not path.endswith("__main__.py"):
        found.update(_endings(tree))
    return found


def _last(node: ast.AST) -> str:
    if isinstance(node, ast.alias):
        return node.name
    return getattr(node, "attr", getattr(node, "id", ""))


def _text(node: ast.AST) -> str:
    if not isinstance(node, ast.Constant):
        return ""
    value = node.value
    if isinstance(value, bytes):
        return value.decode("latin-1")
    return value if isinstance(value, str) else ""


def _signs_of(node: ast.AST) -> Iterator[str]:
    if tool := _imported(node):
        yield f"{_LOOKS}: it imports {tool}"
    if _PYTEST_VARIABLE in _text(node):
        yield f"{_LOOKS}: it has {_PYTEST_VARIABLE}…"
    if _CALLED in (_last(node), _text(node)):
        yield f"{_LOOKS}: it has {_CALLED}"
    if _last(node) == "_exit" or _text(node) == "_exit":
        yield f"{_STOPS}: it has os._exit"


def _imported(node: ast.AST) -> str:
    """Return the test tool that a node imports."""
    match node:
        case ast.Import(names=names):
            modules = [alias.name for alias in names]
        case ast.ImportFrom(module=str(module), level=0):
            modules = [module]
        case ast.Call() if last_name(node.func) in ("import_module", "__import__"):
            modules = [_text(each) for each in node.args[:1]]
        case _:
            return ""
    return next((each for each in modules if each.partition(".")[0] in _TOOLS), "")


def _endings(tree: ast.Module) -> Iterator[str]:
    """Go through what ends the process when the module is imported."""
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.If) and form_of(node.test) == _MAIN:
            pending += node.orelse
            continue
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(node, ast.Call | ast.Raise):
            raised = node.exc if isinstance(node, ast.Raise) else node.func
            if raised is not None and last_name(raised) in _ENDS:
                yield f"{_STOPS}: it ends it when it is imported"
        pending += ast.iter_child_nodes(node)
