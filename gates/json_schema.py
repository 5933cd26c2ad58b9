"""The `schema` gate: an artifact is JSON, and of the form its step asks for."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, cast

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

from ..errors import Category
from ..task_ir import Output
from .result import GateResult

__all__ = ["NAME", "check"]

NAME = "schema"
_MOST_DIAGNOSTICS = 5


def check(artifact: str, output: Output) -> GateResult:
    """Parse the artifact as JSON and hold it against the output's schema, where it has one."""
    try:
        value: Any = json.loads(artifact)
    except json.JSONDecodeError as error:
        found = f"line {error.lineno}, column {error.colno}: not JSON: {error.msg}"
        return GateResult(
            gate=NAME, status="failed", category=Category.FORMAT, diagnostics=(found,)
        )
    validator = Draft202012Validator(output.json_schema or {})
    errors = cast("Iterable[ValidationError]", validator.iter_errors(value))  # pyright: ignore[reportUnknownMemberType]
    found = [f"{error.json_path}: {error.message}" for error in errors]
    if not found:
        return GateResult(gate=NAME, status="passed")
    return GateResult(
        gate=NAME,
        status="failed",
        category=Category.SCHEMA,
        diagnostics=tuple(found[:_MOST_DIAGNOSTICS]),
    )
