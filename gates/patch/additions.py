"""What may not be added to files of tests: it would change what existing tests do. Pure."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from ..python.inspection import Function, last_name
from .file_parts import FilePart, FileParts, form_of, parametrized
from .reach import reach_problem

__all__ = [
    "Addition",
    "Surroundings",
    "addition_problem",
    "imported_names",
    "is_loose",
    "reach_problem",
    "requested_names",
]

_MODULE_NAMES = frozenset(
    {"pytestmark", "collect_ignore", "collect_ignore_glob", "load_tests", "setup", "teardown"}
    | {f"{when}_{what}" for when in ("setup", "teardown") for what in ("module", "function")}
    | {"setUpModule", "tearDownModule", "run_tests"}
)
_CLASS_NAMES = frozenset(
    {"pytestmark", "setup", "teardown", "setUp", "tearDown", "setUpClass", "tearDownClass", "run"}
    | {f"{when}_{what}" for when in ("setup", "teardown") for what in ("class", "method")}
    | {"asyncSetUp", "asyncTearDown", "failureException", "longMessage", "maxDiff", "debug"}
    | {"id", "skipTest", "fail", "subTest", "addCleanup", "doCleanups", "countTestCases"}
    | {"defaultTestResult", "shortDescription", "addTypeEqualityFunc", "enterContext", "params"}
)
_OF_TEST_CASE = ("assert", "_call", "_add", "_base", "_outcome")
_BUILTINS = frozenset(dir(builtins))
_AT_LOAD = frozenset(
    {"exit", "quit", "setattr", "delattr", "exec", "eval", "globals", "locals", "vars"}
    | {"__import__", "SystemExit", "SkipTest", "Skipped", "importorskip", "_exit"}
)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Where something is added.

    Attributes:
        kind: "new" for a file that nothing existing uses, "class" for a class of tests.
        taken: Names that mean something to existing code there.
        requested: Fixtures that existing tests ask for.
        imported: Names that the file imports.
        tests: Names of the tests and fixtures of the file.
        inherited: Names that a base class of the class may have.
    """

    kind: Literal["new", "file", "conftest", "class"]
    taken: frozenset[str] = frozenset()
    requested: frozenset[str] = frozenset()
    imported: frozenset[str] = frozenset()
    inherited: frozenset[str] = frozenset()
    tests: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Addition:
    """A part that wasn't there; its name is "" if it binds none."""

    name: str
    part: FilePart = field(repr=False)


def addition_problem(added: Addition, place: Surroundings) -> str:
    """Say why a part may not be added there; "" if it may."""
    node = added.part.node
    if added.name.startswith("pytest_"):
        return "a new hook or plugin of pytest"
    if found := reach_problem(node, place.taken, place.imported):
        return found
    if found := _load_problem(node, place):
        return found
    if place.kind == "new":
        return ""
    if found := _name_problem(added.name, node, place):
        return found
    if found := _fixture_problem(added.name, node, place):
        return found
    if isinstance(node, ast.If | ast.Try):
        return _block_problem(node, place)
    return "" if _is_plain(node) else "a new statement that runs when the file is loaded"


def _is_plain(node: ast.stmt) -> bool:
    if isinstance(node, ast.ImportFrom):
        return node.names[0].name != "*"
    plain = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.AnnAssign)
    return isinstance(node, (*plain, ast.Assign)) or type(node).__name__ == "TypeAlias"


def _block_problem(node: ast.If | ast.Try, place: Surroundings) -> str:
    """Judge what is within a condition, or a try for an import."""
    if _is_main(node):
        return ""
    handled = [each for handler in getattr(node, "handlers", ()) for each in handler.body]
    for each in (*node.body, *node.orelse, *getattr(node, "finalbody", ()), *handled):
        part = FilePart(each, "")
        if found := addition_problem(Addition("", part), place):
            return found
    return ""


_MAIN = form_of(ast.parse('__name__ == "__main__"', mode="eval").body)


def _is_main(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and not node.orelse and form_of(node.test) == _MAIN


# --- names ----------------------------------------------------------------------------------------


def _name_problem(name: str, node: ast.stmt, place: Surroundings) -> str:
    special = _CLASS_NAMES if place.kind == "class" else _MODULE_NAMES
    if name in special or (name.startswith("__") and name.endswith("__")):
        return f"{name} has a meaning for all tests there"
    if name in place.inherited or (place.kind == "class" and name.startswith(_OF_TEST_CASE)):
        return f"{name} may take the place of what the class inherits"
    if place.kind == "class" and name.startswith("test") and isinstance(node, Function):
        return ""
    if name in _BUILTINS or name.partition(".")[0] in place.taken:
        return f"{name} means something else to the tests there"
    return ""


def is_autouse(node: ast.stmt) -> bool:
    """Whether a statement may make a fixture that tests use without asking for it."""
    for each in ast.walk(node):
        if isinstance(each, ast.keyword) and each.arg == "autouse" and not _is_false(each.value):
            return True
        if isinstance(each, ast.Constant) and each.value == "autouse":
            return True
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    # What `**` stands for can't be seen.
    return any(keyword.arg is None for each in decorators for keyword in _keywords(each))


def _keywords(decorator: ast.expr) -> list[ast.keyword]:
    return decorator.keywords if isinstance(decorator, ast.Call) else []


def is_loose(name: str, node: ast.stmt) -> bool:
    """Whether a statement of a module concerns tests that don't name it."""
    is_special = name in _MODULE_NAMES or name.startswith(("pytest_", "__"))
    return is_special or is_autouse(node)


def _fixture_problem(name: str, node: ast.stmt, place: Surroundings) -> str:
    if is_autouse(node):
        return "a new fixture that every test there uses"
    names = {name, *_other_names(node)}
    if (taken := sorted(names & place.requested)) and _may_be_fixture(node):
        return f"it takes the place of the fixture {taken[0]}"
    return ""


def _is_false(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and not node.value


def _other_names(node: ast.stmt) -> Iterator[str]:
    """Go through the names that a decorator gives what it decorates."""
    if not parametrized(decorators := getattr(node, "decorator_list", ())):
        yield from _texts(decorators)


def _may_be_fixture(node: ast.stmt) -> bool:
    if isinstance(node, Function):
        return bool(node.decorator_list)
    if isinstance(node, ast.Assign | ast.AnnAssign):
        return not isinstance(node.value, _PLAIN_VALUES)
    return not isinstance(node, ast.ClassDef | ast.Import)


_PLAIN_VALUES = (ast.Constant, ast.List, ast.Tuple, ast.Set, ast.Dict)


def requested_names(nodes: Iterable[ast.AST]) -> frozenset[str]:
    """Return the fixtures that code may ask for: names of parameters, and names in texts."""
    found: set[str] = set()
    for node in (each for root in nodes for each in ast.walk(root)):
        if isinstance(node, Function):
            arguments = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
            found |= {argument.arg for argument in arguments} - _given(node)
        elif isinstance(node, ast.Call) and last_name(node) in ("usefixtures", "getfixturevalue"):
            found |= _texts(node.args)
    return frozenset(found - {"self", "cls"})


def _given(function: Function) -> set[str]:
    """Return the parameters that parametrization gives."""
    names = (_texts(call.args[:1]) for call in parametrized(function.decorator_list))
    return {part.strip() for texts in names for text in texts for part in text.split(",")}


def _texts(nodes: Iterable[ast.expr]) -> set[str]:
    found = (each for node in nodes for each in ast.walk(node) if isinstance(each, ast.Constant))
    return {each.value for each in found if isinstance(each.value, str)}


# --- at load --------------------------------------------------------------------------------------


def _load_problem(node: ast.stmt, place: Surroundings) -> str:
    """Say what a statement does when the file is loaded that other files notice."""
    if _is_main(node):
        return ""
    for each in _run_at_load(node):
        name = getattr(each, "attr", getattr(each, "id", ""))
        if name in _AT_LOAD and not (place.kind == "new" and name in _OWN):
            return f"it uses {name} when the file is loaded"
        if isinstance(each, ast.Name) and each.id in place.tests:
            return f"it uses {each.id} when the file is loaded"
        is_of_file = "allow_module_level" in (
            getattr(each, "arg", None),
            getattr(each, "value", None),
        )
        if is_of_file and place.kind != "new":
            return "it skips the whole file"
    return ""


_OWN = frozenset({"importorskip", "SkipTest", "Skipped", "locals", "vars", "globals", "eval"})
"""What concerns the file alone."""


def _run_at_load(node: ast.stmt) -> Iterator[ast.AST]:
    """Go through all of a statement that is not the body of a function."""
    pending: list[ast.AST] = [node]
    while pending:
        each = pending.pop()
        yield each
        if isinstance(each, Function):
            pending += [*each.decorator_list, each.args]
        elif isinstance(each, ast.ClassDef):
            # To inherit from tests changes none of them.
            pending += [*each.decorator_list, *each.keywords, *each.body]
        else:
            pending += ast.iter_child_nodes(each)


def imported_names(parts: FileParts) -> frozenset[str]:
    """Return the names that a file imports."""
    return frozenset(
        name.partition(".")[0]
        for name, bound in parts.names.items()
        if any(isinstance(part.node, ast.Import | ast.ImportFrom) for part in bound)
    )
