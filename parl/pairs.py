"""A user's own training pairs: JSONL, an objective and its plan a line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

from ..errors import InputError, PlanError
from ..task_ir import parse_plan
from ..tasks.planner.local.line_format import flat, read_lines, write_lines

__all__ = ["read_pairs"]


def read_pairs(path: Path) -> list[tuple[str, str]]:
    """Read pairs of an objective and its plan in lines.

    Each line is `{"objective": …, "plan": …}`; the plan is numbered lines as one string, or a
    `TaskIR` as an object, as `prefect-swarm plan --json` prints it.

    Raises:
        InputError: The file can't be read or holds no pair, or a line is no pair; it says which.
    """
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"The file {path} can't be read: {error}.", "Check its path.") from None
    pairs = [_pair(f"{path}:{n}", line) for n, line in enumerate(lines, 1) if line.strip()]
    if not pairs:
        raise InputError(f"The file {path} holds no pair.", _FORM)
    return pairs


_FORM = 'Write {"objective": "…", "plan": "1. Name: What to do\\n2. …"} on each line.'


def _pair(place: str, line: str) -> tuple[str, str]:
    try:
        row = json.loads(line)
    except ValueError as error:
        raise InputError(f"{place} is not valid JSON: {error}.", _FORM) from None
    given = cast("dict[str, Any]", row) if isinstance(row, dict) else {}
    objective, plan = given.get("objective"), given.get("plan")
    if not isinstance(objective, str) or not objective.strip():
        raise InputError(f"{place} has no objective.", _FORM)
    try:
        if isinstance(plan, dict):
            said = cast("dict[str, Any]", plan)
            return objective, write_lines(flat(parse_plan({"objective": objective, **said})))
        if isinstance(plan, str):
            return objective, write_lines(read_lines(plan, objective))
    except PlanError as error:
        raise InputError(f"The plan of {place} can't be read: {error.problem}", error.fix) from None
    raise InputError(f"{place} has no plan.", _FORM)
