"""Runs in the sandbox: imports modules and evaluates expressions; never knows what is right."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import json
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AnySet
from typing import Any, cast

_LARGEST = 100_000
_DEEPEST = 40

# Each of Python's own types, and how to take what it holds past a subclass's own methods.
_SCALARS: tuple[tuple[type, Callable[[Any], Any]], ...] = (
    (str, str.__str__),
    (int, int.__int__),
    (float, float.__float__),
)
_CONTAINERS: tuple[tuple[type, str, Callable[[Any], Iterable[Any]]], ...] = (
    (dict, "dict", dict[Any, Any].items),
    (list, "list", list[Any].__iter__),
    (tuple, "list", tuple[Any, ...].__iter__),
    (set, "set", set[Any].__iter__),
    (frozenset, "set", frozenset[Any].__iter__),
)
_WRITTEN: tuple[tuple[type, Callable[[Any], str]], ...] = (
    (bytes, bytes.__repr__),
    (bytearray, bytearray.__repr__),
    (complex, complex.__repr__),
)

SendRecord = Callable[[object], None]
DescribeException = Callable[[BaseException], dict[str, Any]]


def perform(job: dict[str, Any], report: SendRecord, describe: DescribeException) -> bool:
    """Import the job's `modules`, then evaluate its `calls` over the names of the last one.

    Reports when each starts, and what it raised or gave; stops at a module that raises.
    """
    names: dict[str, Any] = {}
    for module in job["modules"]:
        report({"starts": module})
        try:
            names = vars(importlib.import_module(module))
        except BaseException as error:  # noqa: BLE001 - whatever a model's code raises
            report({"module": module, "raised": describe(error)})
            return False
    for at, call in enumerate(job["calls"]):
        report({"starts": call})
        try:
            outcome = _evaluate(call, dict(names))
            report({"call": at, "gave": _bounded(encode(outcome))})
        except BaseException as error:  # noqa: BLE001
            report({"call": at, "raised": describe(error)})
    return True


def encode(value: Any, depth: int = 0) -> object:
    """Write a value in JSON, with its kind where JSON has none for it (see `values`).

    A value is written once, and what is built on one of Python's own types by what is in that,
    whatever its class says of itself: nothing can be one text here and another there.
    """
    if depth > _DEEPEST:
        raise ValueError("the value is nested too deeply to be compared")
    if value is None or value is True or value is False:
        return value
    for kind, exact in _SCALARS:
        if issubclass(type(value), kind):
            return _text(exact(value)) if kind is str else exact(value)
    for kind, name, parts in _CONTAINERS:
        if issubclass(type(value), kind):
            return _container(name, parts(value), depth)
    if isinstance(value, Mapping):
        return _container("dict", cast("Mapping[Any, Any]", value).items(), depth)
    if isinstance(value, AnySet):
        return _container("set", cast("AnySet[Any]", value), depth)
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray | memoryview):
        return _container("list", cast("Sequence[Any]", value), depth)
    return _other(value, depth)


def _container(name: str, parts: Iterable[Any], depth: int) -> object:
    if name == "dict":
        return {name: [[encode(key, depth + 1), encode(part, depth + 1)] for key, part in parts]}
    return {name: [encode(part, depth + 1) for part in parts]}


def _text(value: str) -> object:
    # Half of a character is in no JSON, so nothing that is expected equals it.
    return value if value.isascii() or _is_unicode(value) else {"half": [ascii(value)]}


def _is_unicode(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _other(value: Any, depth: int) -> object:
    if hasattr(value, "tolist"):  # an array of numbers, or one of its numbers
        return encode(value.tolist(), depth + 1)
    if hasattr(value, "__index__"):
        return operator.index(value)
    for kind, write in _WRITTEN:
        if issubclass(type(value), kind):
            return {"other": [write(value)[:_LARGEST]]}
    return {"other": [str.__str__(str(value))[:_LARGEST]]}


def _evaluate(call: str, names: dict[str, Any]) -> object:
    outcome = eval(compile(call.strip(), "<example>", "eval", dont_inherit=True), names)  # noqa: S307 - this is the sandbox
    return asyncio.run(outcome) if inspect.iscoroutine(outcome) else outcome


def _bounded(tree: object) -> object:
    size = len(json.dumps(tree))
    return tree if size <= _LARGEST else {"large": size}
