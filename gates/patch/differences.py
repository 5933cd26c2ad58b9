"""How an existing function, class or value of a test file differs after a patch. Pure."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import Literal

from ..python.inspection import Function, last_name
from .file_parts import FilePart, form_of, parametrized

__all__ = ["Difference", "How", "difference", "header_difference", "is_test_class"]

How = Literal["deleted", "skipped", "weakened", "changed"]
Difference = tuple[How, str]
"""What was done to a test, and what shows it."""

_SKIPS = frozenset(
    {"skip", "skipif", "xfail", "skipIf", "skipUnless", "skipTest", "expectedFailure"}
    | {"SkipTest", "Skipped", "importorskip", "XFailed"}
)
_CHECKS = frozenset({"raises", "warns", "fail", "deprecated_call"})
_WIDE = frozenset({"Exception", "BaseException"})
_CONDITIONS = (ast.If, ast.While, ast.For, ast.AsyncFor, ast.Match)
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_POSITIONS = ("argnames", "argvalues", "indirect", "ids", "scope")
_LISTS = ("argvalues", "ids")


def difference(
    old: Sequence[FilePart], new: Sequence[FilePart], *, may_grow: bool
) -> Difference | None:
    """Say how what a name stands for differs; None if no more than cases were added to it.

    Args:
        may_grow: Whether the name stands for a list of cases, which may get more of them.
    """
    if len(new) > len(old):
        return _again(old[-1].node, new[-1].node)
    if len(new) < len(old):
        return "changed", "it was defined more often"
    for one, other in zip(old, new, strict=True):
        if one.form != other.form and (found := _of_statement(one.node, other.node, may_grow)):
            return found
    return None


def _again(old: ast.stmt, new: ast.stmt) -> Difference:
    if isinstance(old, _DEFINITIONS) and not isinstance(new, _DEFINITIONS):
        return "deleted", "its name stands for something else at the end"
    return "changed", "its name is bound again, and the last time counts"


def _of_statement(old: ast.stmt, new: ast.stmt, may_grow: bool) -> Difference | None:
    if isinstance(old, Function) and isinstance(new, Function):
        return _of_function(old, new)
    if isinstance(old, Function | ast.ClassDef):
        if isinstance(new, ast.If | ast.Try | ast.With | ast.For | ast.While | ast.Match):
            return "skipped", "it is there under a condition alone"
        if not isinstance(new, ast.ClassDef):
            return "deleted", "its name stands for something else"
    if may_grow and _has_grown(_value(old), _value(new)):
        return None
    return "changed", "it is another one"


def _value(node: ast.stmt) -> ast.expr | None:
    return node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None


def header_difference(old: ast.ClassDef, new: ast.ClassDef) -> Difference | None:
    """Say how a class differs outside its body."""
    if found := _of_decorators(old.decorator_list, new.decorator_list):
        return found
    if form_of(*old.bases, *old.keywords) != form_of(*new.bases, *new.keywords):
        return "changed", "its base classes are others"
    return None


def is_test_class(node: ast.stmt) -> bool:
    """Whether a statement is a class with tests, to which others may be added."""
    if not isinstance(node, ast.ClassDef):
        return False
    names = (each.name for each in node.body if isinstance(each, Function))
    return node.name.startswith("Test") or any(name.startswith("test") for name in names)


def _of_function(old: Function, new: Function) -> Difference | None:
    if found := _of_decorators(old.decorator_list, new.decorator_list):
        return found
    if form_of(*old.body) != form_of(*new.body):
        return _of_body(old.body, new.body)
    head_of_old, head_of_new = (
        form_of(node.args, node.returns, *getattr(node, "type_params", ())) for node in (old, new)
    )
    if type(old) is not type(new) or head_of_old != head_of_new:
        return "changed", "its parameters are others"
    return None


# --- decorators -----------------------------------------------------------------------------------


def _of_decorators(old: Sequence[ast.expr], new: Sequence[ast.expr]) -> Difference | None:
    old_cases, new_cases = parametrized(old), parametrized(new)
    if old_cases and not new_cases:
        return "weakened", "its cases are gone"
    for one, other in zip_longest(old_cases, new_cases):
        if one is None or other is None:
            return "changed", "it is parametrized in another way"
        if found := _of_cases(one, other):
            return found
    others = [
        [each for each in group if each not in cases]
        for group, cases in ((old, old_cases), (new, new_cases))
    ]
    if form_of(*others[0]) == form_of(*others[1]):
        return None
    if _skips(others[1]) > _skips(others[0]):
        return "skipped", "a decorator skips it, or expects it to fail"
    return "changed", "its decorators are others"


def _of_cases(old: ast.Call, new: ast.Call) -> Difference | None:
    ours, theirs = _arguments(old), _arguments(new)
    for name in ours.keys() | theirs.keys():
        one, other = ours.get(name), theirs.get(name)
        if form_of(one) == form_of(other) or (name in _LISTS and _has_grown(one, other)):
            continue
        if _skips([new]) > _skips([old]):
            return "skipped", "cases of it are skipped, or expected to fail"
        if name == "argvalues":
            return "weakened", "cases of it are gone, or are others"
        return "changed", "it is parametrized in another way"
    return None


def _arguments(call: ast.Call) -> dict[str, ast.expr]:
    named = {
        keyword.arg or f"**{number}": keyword.value for number, keyword in enumerate(call.keywords)
    }
    return dict(zip((*_POSITIONS, "*"), call.args, strict=False)) | named


def _has_grown(old: ast.expr | None, new: ast.expr | None) -> bool:
    """Whether a list has all that it had."""
    if not (isinstance(old, ast.List | ast.Tuple) and isinstance(new, ast.List | ast.Tuple)):
        return False
    return Counter(map(form_of, old.elts)) <= Counter(map(form_of, new.elts))


def _skips(nodes: Iterable[ast.AST]) -> int:
    return sum(
        getattr(each, "attr", getattr(each, "id", "")) in _SKIPS
        for node in nodes
        for each in ast.walk(node)
    )


# --- bodies ---------------------------------------------------------------------------------------


def _of_body(old: Sequence[ast.stmt], new: Sequence[ast.stmt]) -> Difference:
    if _skips(new) > _skips(old):
        return "skipped", "it skips itself, or expects to fail"
    before, after = _measured(old), _measured(new)
    for name, why in _WORSE.items():
        if after[name] > before[name]:
            return "weakened", why
    for name, why in _LESS.items():
        if after[name] < before[name]:
            return "weakened", why
    return "changed", "what it does is something else"


_WORSE = {
    "true": "a check in it is always true",
    "caught": "an error in it is caught",
    "wide": "it accepts any exception",
    "conditional": "a check of it is under a condition",
    "ended": "it may end before its last check",
}
_LESS = {
    "check": "it checks less than before",
    "equal": "it compares less exactly than before",
}


def _measured(body: Sequence[ast.stmt]) -> Counter[str]:
    found: Counter[str] = Counter()
    for node in (each for statement in body for each in ast.walk(statement)):
        found.update(_signs(node))
        if isinstance(node, _CONDITIONS):
            found["conditional"] += sum(isinstance(each, ast.Assert) for each in ast.walk(node))
    return found


def _signs(node: ast.AST) -> Sequence[str]:
    match node:
        case ast.Assert(test=test):
            return ("check", "true") if _is_true(test) else ("check",)
        case ast.Call() if (name := last_name(node)) in _CHECKS or name.startswith("assert"):
            is_wide = any(last_name(each) in _WIDE for each in node.args)
            return ("check", "wide") if is_wide else ("check",)
        case ast.Call() if last_name(node) == "suppress":
            return ("caught",)
        case ast.Compare():
            return ["equal" for each in node.ops if isinstance(each, ast.Eq | ast.Is)]
        case ast.Try() | ast.TryStar():
            return ("caught",)
        case ast.Return():
            return ("ended",)
        case _:
            return ()


def _is_true(test: ast.expr) -> bool:
    match test:
        case ast.Constant(value=value):
            return bool(value)
        case ast.Tuple(elts=items) | ast.List(elts=items):
            return bool(items)
        case ast.Compare(left=left, ops=[ast.Eq() | ast.Is() | ast.LtE() | ast.GtE()]):
            return form_of(left) == form_of(test.comparators[0])
        case ast.BoolOp(op=ast.Or(), values=values):
            return any(map(_is_true, values))
        case ast.UnaryOp(op=ast.Not(), operand=ast.Constant(value=value)):
            return not value
        case ast.Lambda():
            return True
        case _:
            return False
