"""Runs in the sandbox: imports modules and evaluates expressions; never knows what is right."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import json
import operator
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AnySet
from typing import Any, cast

_LARGEST = 100_000
_DEEPEST = 40

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
            given = _evaluate(call, dict(names))
            report({"call": at, "gave": _bounded(encode(given))})
        except BaseException as error:  # noqa: BLE001
            report({"call": at, "raised": describe(error)})
    return True


def encode(value: Any, depth: int = 0) -> object:
    """Write a value in JSON, with its kind where JSON has none for it (see `json_values`)."""
    if depth > _DEEPEST:
        raise ValueError("the value is nested too deeply to be compared")
    if value is None or isinstance(value, bool | str | int | float):
        return _scalar(value)
    if isinstance(value, Mapping):
        pairs = cast("Mapping[Any, Any]", value).items()
        return {"dict": [[encode(key, depth + 1), encode(part, depth + 1)] for key, part in pairs]}
    if isinstance(value, AnySet):
        return {"set": [encode(part, depth + 1) for part in cast("AnySet[Any]", value)]}
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray | memoryview):
        return {"list": [encode(part, depth + 1) for part in cast("Sequence[Any]", value)]}
    return _other(cast("Any", value), depth)


def _scalar(value: str | float | None) -> object:
    # An enum's member can be a string or a number that writes itself otherwise.
    for kind in (str, bool, int, float):
        if isinstance(value, kind):
            return value if kind is bool else getattr(kind, f"__{kind.__name__}__")(value)
    return value


def _other(value: Any, depth: int) -> object:
    if hasattr(value, "tolist"):  # an array of numbers, or one of its numbers
        return encode(value.tolist(), depth + 1)
    if hasattr(value, "__index__"):
        return operator.index(value)
    return {"other": [repr(value)[:_LARGEST], str(value)[:_LARGEST]]}


def _evaluate(call: str, names: dict[str, Any]) -> object:
    given = eval(compile(call.strip(), "<example>", "eval", dont_inherit=True), names)  # noqa: S307 - this is the sandbox
    return asyncio.run(given) if inspect.iscoroutine(given) else given


def _bounded(tree: object) -> object:
    size = len(json.dumps(tree))
    return tree if size <= _LARGEST else {"large": size}
