"""The `schema` gate: an artifact is JSON, and of the form its step asks for."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, cast

from ...errors import Category, GateError
from ...task_ir import OutputKind
from ...untrusted.strict_json import NotStrictError, nesting, read_json
from ..gate import Stage, Subject
from ..result import Diagnostic, Finding, fault
from ..tool import run_tool

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError

__all__ = ["JsonSchema", "check_schema"]

_MOST_DIAGNOSTICS = 5
_MOST_LEVELS = 100
"""Deeper values would fail on the validator's own recursion, whatever the schema says."""


@dataclass(frozen=True)
class JsonSchema:
    """JSON Schema 2020-12; a pydantic model's `model_json_schema()` is one."""

    name: str = "schema"
    about: str = "is JSON, and fits the step's JSON Schema"
    kinds: frozenset[OutputKind] = frozenset({"json"})
    stage: Stage = "light"
    timeout_s: float = 30.0

    def version(self) -> str:
        return f"jsonschema {version('jsonschema')}"

    async def check(self, subject: Subject) -> Finding:
        """Parse the artifact and check it against the output's schema, where it has one."""
        try:
            value: Any = read_json(subject.artifact)
        except json.JSONDecodeError as error:
            message = f"not JSON: {error.msg}"
            found = Diagnostic(message=message, line=error.lineno, column=error.colno)
            return fault(Category.FORMAT, found)
        except NotStrictError as error:
            return fault(Category.FORMAT, *error.problems)
        except (ValueError, RecursionError) as error:
            return fault(Category.FORMAT, f"not JSON that can be read: {error}")
        if (levels := nesting(value)) > _MOST_LEVELS:
            found = f"it is nested {levels} levels deep, and may have {_MOST_LEVELS}"
            return fault(Category.FORMAT, found)
        schema = subject.output.json_schema or {}
        # A pattern can take for ever, and a thread that matches one can't be stopped.
        slow = "pattern" in json.dumps(schema)
        return await _check_in_subprocess(schema, value) if slow else check_schema(schema, value)


def check_schema(schema: dict[str, Any], value: Any) -> Finding:
    """Check a value against a JSON Schema."""
    # Here and not above: what imports the gates must not wait for it.
    from jsonschema import Draft202012Validator
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    # A registry of its own: the default one fetches a schema's remote references.
    validator = Draft202012Validator(schema, registry=Registry())
    errors = cast("Iterable[ValidationError]", validator.iter_errors(value))  # pyright: ignore[reportUnknownMemberType]
    try:
        found = [f"{error.json_path}: {error.message}" for error in errors]
    except (Unresolvable, RecursionError, OverflowError) as error:
        broken = Diagnostic(message=f"the step's schema can't be applied: {error}")
        return Finding(status="error", category=Category.SCHEMA, diagnostics=(broken,))
    if found:
        return fault(Category.SCHEMA, *found[:_MOST_DIAGNOSTICS])
    return Finding(status="passed")


async def _check_in_subprocess(schema: dict[str, Any], value: Any) -> Finding:
    output = await run_tool((sys.executable, "-c", _CHILD), json.dumps([schema, value]))
    if output.exit_code:
        raise GateError(f"The schema could not be applied: {output.stderr[-300:]}")
    return Finding.model_validate_json(output.stdout)


_CHILD = (
    "import json, sys; from prefect_swarm.gates.json.schema import check_schema; "
    "print(check_schema(*json.load(sys.stdin)).model_dump_json())"
)
