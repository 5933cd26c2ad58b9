"""The `schema` gate: an artifact is JSON, and of the form its step asks for."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, cast

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from referencing import Registry
from referencing.exceptions import Unresolvable

from ..errors import Category
from ..task_ir import Output
from .result import GateResult, GateStatus

__all__ = ["NAME", "check"]

NAME = "schema"
_MOST_DIAGNOSTICS = 5


def check(artifact: str, output: Output) -> GateResult:
    """Parse the artifact as JSON and hold it against the output's schema, where it has one."""
    try:
        value: Any = json.loads(artifact, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        found = f"line {error.lineno}, column {error.colno}: not JSON: {error.msg}"
        return _verdict("failed", Category.FORMAT, found)
    except (ValueError, RecursionError) as error:
        return _verdict("failed", Category.FORMAT, f"not JSON that can be read: {error}")
    # A registry of its own: the default one fetches a schema's remote references.
    validator = Draft202012Validator(output.json_schema or {}, registry=Registry())
    errors = cast("Iterable[ValidationError]", validator.iter_errors(value))  # pyright: ignore[reportUnknownMemberType]
    try:
        found = [f"{error.json_path}: {error.message}" for error in errors]
    except (Unresolvable, RecursionError, OverflowError) as error:
        return _verdict("error", Category.SCHEMA, f"the step's schema can't be applied: {error}")
    if found:
        return _verdict("failed", Category.SCHEMA, *found[:_MOST_DIAGNOSTICS])
    return GateResult(gate=NAME, status="passed")


def _verdict(status: GateStatus, category: Category, *diagnostics: str) -> GateResult:
    return GateResult(gate=NAME, status=status, category=category, diagnostics=diagnostics)


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON value")
