"""The `schema` gate: an artifact is JSON, and of the form its step asks for."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, cast

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from referencing import Registry
from referencing.exceptions import Unresolvable

from ..errors import Category
from ..task_ir import OutputKind
from .gate import Stage, Subject
from .result import Diagnostic, Finding, fault

__all__ = ["JsonSchema"]

_MOST_DIAGNOSTICS = 5


@dataclass(frozen=True)
class JsonSchema:
    """JSON Schema 2020-12; what a pydantic model says of itself (`model_json_schema()`) is such."""

    name: str = "schema"
    about: str = "is JSON, and fits the step's JSON Schema"
    kinds: frozenset[OutputKind] = frozenset({"json"})
    stage: Stage = "light"
    timeout_s: float = 30.0

    def version(self) -> str:
        return f"jsonschema {version('jsonschema')}"

    async def check(self, subject: Subject) -> Finding:
        """Parse the artifact and hold it against the output's schema, where it has one."""
        try:
            value: Any = json.loads(subject.artifact, parse_constant=_refuse)
        except json.JSONDecodeError as error:
            message = f"not JSON: {error.msg}"
            found = Diagnostic(message=message, line=error.lineno, column=error.colno)
            return fault(Category.FORMAT, found)
        except (ValueError, RecursionError) as error:
            return fault(Category.FORMAT, f"not JSON that can be read: {error}")
        # A registry of its own: the default one fetches a schema's remote references.
        validator = Draft202012Validator(subject.output.json_schema or {}, registry=Registry())
        errors = cast("Iterable[ValidationError]", validator.iter_errors(value))  # pyright: ignore[reportUnknownMemberType]
        try:
            found = [Diagnostic(message=f"{e.json_path}: {e.message}") for e in errors]
        except (Unresolvable, RecursionError, OverflowError) as error:
            broken = Diagnostic(message=f"the step's schema can't be applied: {error}")
            return Finding(status="error", category=Category.SCHEMA, diagnostics=(broken,))
        if found:
            return fault(Category.SCHEMA, *found[:_MOST_DIAGNOSTICS])
        return Finding(status="passed")


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON value")
