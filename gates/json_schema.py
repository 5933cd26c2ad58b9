"""The `schema` gate: an artifact is JSON, and of the form its step asks for."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ..errors import Category, GateError
from ..host.bounded import BoundError, ProcessBounds, answer_within
from ..plan.task_ir import OutputKind
from ..untrusted.json_text import NoJsonError, NotStrictError, read_json
from .base import Diagnostic, Finding, Stage, Subject, fault
from .json_validator import MOST_MORE, Misfits, TooMuchWorkError, may_take_long, misfits
from .source import run_tool

__all__ = ["JsonSchema", "check_schema"]


_SCRIPT = Path(__file__).with_name("json_validator.py")
_MOST_WORK = 20_000
"""Keywords that are applied in this process: some tenths of a second."""
_BOUNDS = ProcessBounds(5.0)


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
        except NotStrictError as error:
            return fault(Category.FORMAT, *error.problems)
        except NoJsonError as error:
            message = f"not JSON: {error.problem}"
            found = Diagnostic(message=message, line=error.line, column=error.column)
            return fault(Category.FORMAT, found)
        schema = subject.output.json_schema or {}
        if (finding := _found_here(schema, value)) is not None:
            return finding
        # A thread that matches a pattern can't be stopped; a process can.
        command = (sys.executable, "-I", "-B", str(_SCRIPT))
        output = await run_tool(command, json.dumps([schema, value]))
        if output.exit_code:
            raise GateError(f"The schema could not be applied: {output.stderr[-300:]}")
        return _finding(Misfits(*json.loads(output.stdout)))


def check_schema(schema: dict[str, Any], value: Any, bounds: ProcessBounds = _BOUNDS) -> Finding:
    """Check a value against a JSON Schema; what takes longer than the bounds doesn't fit."""
    if (finding := _found_here(schema, value)) is not None:
        return finding
    try:
        answer = answer_within(_SCRIPT, json.dumps([schema, value]).encode(), bounds)
    except BoundError as error:
        return fault(Category.TIMEOUT, f"whether it fits the schema can't be found out: {error}")
    return _finding(Misfits(*json.loads(answer)))


def _found_here(schema: dict[str, Any], value: Any) -> Finding | None:
    """Check a value in this process; None where that may take long."""
    if may_take_long(schema):
        return None
    try:
        return _finding(misfits(schema, value, _MOST_WORK))
    except TooMuchWorkError:
        return None


def _finding(result: Misfits) -> Finding:
    if result.broken:
        broken = Diagnostic(message=f"the step's schema can't be applied: {result.broken}")
        return Finding(status="error", category=Category.SCHEMA, diagnostics=(broken,))
    if not result.found:
        return Finding(status="passed")
    count = f"{'at least ' if result.more >= MOST_MORE else ''}{result.more:,}"
    more = [f"and {count} more"] if result.more else []
    return fault(Category.SCHEMA, *result.found, *more)
