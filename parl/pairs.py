"""Read a user's own training pairs: JSONL, one objective and its plan on each line."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

from ..errors import InputError, PlanError
from ..formats.json_text import NoJsonError, read_json
from ..task_ir import parse_plan
from ..tasks.planner.adapter.line_format import flat, read_lines, write_lines
from ..text_files import read_text

__all__ = ["read_pairs"]


def read_pairs(path: Path) -> list[tuple[str, str]]:
    """Read pairs of an objective and its plan in lines.

    Each line is `{"objective": …, "plan": …}`; the plan is numbered lines as one string, or a
    `TaskIR` as an object, as `prefect-swarm plan --json` prints it.

    Raises:
        InputError: The file can't be read or has no pairs, or a line is not a pair.
    """
    lines = read_text(path).splitlines()
    pairs = [_read_pair(f"{path}:{n}", line) for n, line in enumerate(lines, 1) if line.strip()]
    if not pairs:
        raise InputError(f"The file {path} has no pairs.", _FORMAT)
    return pairs


_FORMAT = 'Write {"objective": "…", "plan": "1. Name: What to do\\n2. …"} on each line.'


def _read_pair(place: str, line: str) -> tuple[str, str]:
    try:
        value = read_json(line, halves=True)
    except NoJsonError as error:
        raise InputError(f"{place} is not valid JSON: {error}.", _FORMAT) from None
    fields = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    objective, plan = fields.get("objective"), fields.get("plan")
    if not isinstance(objective, str) or not objective.strip():
        raise InputError(f"{place} has no objective.", _FORMAT)
    try:
        if isinstance(plan, dict):
            plan_fields = cast("dict[str, Any]", plan)
            return objective, write_lines(flat(parse_plan({"objective": objective, **plan_fields})))
        if isinstance(plan, str):
            return objective, write_lines(read_lines(plan, objective))
    except PlanError as error:
        raise InputError(f"The plan of {place} can't be read: {error.problem}", error.fix) from None
    raise InputError(f"{place} has no plan.", _FORMAT)
