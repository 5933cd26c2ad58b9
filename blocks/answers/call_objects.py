"""Calls written as JSON objects, or as Python. Pure."""

from __future__ import annotations

import ast
import re
import warnings
from dataclasses import dataclass
from typing import Any, cast

from .lenient_json import JsonProblem, read_json, read_values

__all__ = ["WrittenCall", "arguments_in_json", "calls_in_json", "calls_in_python"]

_NAMES = ("name", "tool_name", "tool", "function", "recipient_name", "function_name", "action")
_ARGUMENTS = (
    "arguments", "parameters", "args", "input", "tool_input", "params", "kwargs", "action_input"
)  # fmt: skip
_LISTS = ("tool_calls", "tool_uses", "function_calls")
_BESIDE = frozenset({"id", "type", "tool_call_id", "call_id", "index"})
_LONGEST_PYTHON = 20_000
_PRINTED = re.compile(r"print\((.*)\)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class WrittenCall:
    """A call: the tool's name as it was written, and its arguments; None if it names none.

    Attributes:
        is_marked: Whether it stands between marks that mean nothing but a call.
    """

    name: str
    args: Any
    is_marked: bool = False


def calls_in_json(text: str) -> list[WrittenCall] | None:
    """Return the calls that a JSON text is: an object, a list, or several objects; else None."""
    text = _unfenced(text)
    if not text.startswith(("{", "[")):
        return None
    try:
        values = read_values(text)
    except JsonProblem:
        return None
    if len(values) == 1 and isinstance(values[0], list):
        values = cast("list[Any]", values[0])
    if len(values) == 1 and isinstance(values[0], dict):
        only = cast("dict[str, Any]", values[0])
        listed = next((only[each] for each in _LISTS if isinstance(only.get(each), list)), None)
        if listed and len(only) == 1:
            values = cast("list[Any]", listed)
    calls = [_call(value) for value in values]
    return [call for call in calls if call] if calls and all(calls) else None


def arguments_in_json(text: str) -> dict[str, Any] | None:
    """Return the arguments that a JSON text is; None if it isn't an object."""
    try:
        value = read_json(_unfenced(text)).value
    except JsonProblem:
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def _unfenced(text: str) -> str:
    """Return what a block of JSON has in it, or the text."""
    text = text.strip()
    if text.startswith("```") and text.endswith("```") and len(text) > 6:
        text = text[3:-3].strip()
    return text.removeprefix("json").strip()


def calls_in_python(text: str) -> list[WrittenCall] | None:
    """Return the calls that a Python text is: of names, with literals as keyword arguments."""
    text = text.strip()
    if len(text) > _LONGEST_PYTHON or not text.endswith((")", "]")):
        return None
    if printed := _PRINTED.fullmatch(text):
        text = printed[1]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    nodes = tree.elts if isinstance(tree, ast.List) else [tree]
    calls = [_python_call(node) for node in nodes]
    return [call for call in calls if call] if calls and all(calls) else None


def _call(value: Any) -> WrittenCall | None:
    if not isinstance(value, dict):
        return None
    fields = cast("dict[str, Any]", value)
    for wrapper in ("function", "tool_call", "function_call"):
        if isinstance(inner := fields.get(wrapper), dict) and fields.keys() <= {wrapper, *_BESIDE}:
            return _call(cast("dict[str, Any]", inner))
    key = next((key for key in _NAMES if isinstance(fields.get(key), str)), None)
    holding = next((each for each in _ARGUMENTS if each in fields), None)
    if key is None or not fields.keys() <= {key, holding, *_BESIDE}:
        return None
    args: Any = (fields[holding] or {}) if holding else None
    return WrittenCall(fields[key], args) if args is None or isinstance(args, dict | str) else None


def _python_call(node: ast.expr) -> WrittenCall | None:
    if not isinstance(node, ast.Call) or node.args:
        return None
    try:
        name = ast.unparse(node.func)
        args = {each.arg: ast.literal_eval(each.value) for each in node.keywords}
    except (ValueError, RecursionError, TypeError, SyntaxError, MemoryError):
        return None
    if None in args or not re.fullmatch(r"[\w.]{1,200}", name):
        return None
    # `tool.call(key="value")` is how some models write a call of `tool`.
    return WrittenCall(name.removesuffix(".call"), args)
