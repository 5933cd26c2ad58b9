"""Plans for a question, as each arm makes them, and what the orchestrator writes in its turns."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Literal

from .questions import UNKNOWN
from .reading import Wanted, read_wanted, rows_in

__all__ = ["Style", "plan_of", "turn_of"]

Style = Literal["serial", "fixed", "waves", "for_each", "turns"]
SHARES, SERIAL_SHARES = 8, 4
"""How many parts a plan has that doesn't know what will be found."""
_FEW = 3
"""The most rows that an orchestrator in turns gives one subagent."""
READER = {
    "name": "Reader",
    "system_prompt": "You look things up, and answer with what stands there.",
    "tools": ["corpus"],
}
Task = dict[str, Any]


def plan_of(question: str, style: Style, earlier: str = "") -> dict[str, Any]:
    """Return the arguments of `write_plan`.

    Args:
        question: The objective.
        style: How the orchestrator plans.
        earlier: What it is shown of earlier plans.
    """
    wanted = read_wanted(question)
    if style in ("for_each", "turns"):
        is_few = style == "turns" and 0 < len(wanted.names) <= _FEW
        tasks = [_named_rows(wanted.names, wanted.columns)] if is_few else _spread(wanted)
        looks = style == "turns" and wanted.of and not re.search(r"for each of \d+", earlier)
        tasks = tasks[:1] if looks else tasks
        look_after = [1] if looks else [len(tasks)] if style == "turns" else []
        return {"create_subagent": [READER], "assign_task": tasks, "look_after": look_after}
    make = {"serial": _serial, "fixed": _fixed, "waves": _waves}[style]
    return {"create_subagent": [READER], "assign_task": make(wanted)}


def turn_of(question: str, prompt: str, history: str) -> str:
    """Return what the orchestrator writes in a turn: an object, or the number of the answer's step.

    It looks at the names first, and assigns their rows; rows with values that were not found are
    looked up once more by somebody else.

    Args:
        question: The objective.
        prompt: What it is shown in this turn.
        history: What it wrote in earlier ones.
    """
    wanted = read_wanted(question)
    number = int(_last(r"The next assignment has number (\d+)", prompt))
    if wanted.of and "Columns" not in history:
        names = _names_shown(prompt)
        if len(names) <= _FEW:
            tasks = [_named_rows(names, wanted.columns)]
        else:
            tasks = [_row_of({"items": "S1", "max_items": 300}, wanted.columns), _join([number])]
        return json.dumps({"assign_task": tasks, "look_after": [number + len(tasks) - 1]})
    rows = _rows_shown(prompt)
    missing = [row["name"] for row in rows if UNKNOWN in row.values() or "" in row.values()]
    if missing and "once more" not in history:
        task = _row_of({"items": missing}, wanted.columns)
        task["prompt"] += " It is looked up once more: try other words."
        filled = number - 2 if '"collect"' in history else number - 1
        join = _join([filled, number])
        return json.dumps({"assign_task": [task, join], "look_after": [number + 1]})
    return json.dumps({"finish": {"step": number - 1}})


def _last(pattern: str, text: str) -> str:
    return re.findall(pattern, text)[-1]


def _names_shown(prompt: str) -> list[str]:
    for text in re.findall(r"\[\s*\".*?\"\s*\]", prompt, re.DOTALL):
        value = json.loads(text)
        if all(isinstance(each, str) for each in value):
            return value
    return []


def _rows_shown(prompt: str) -> list[dict[str, str]]:
    found = re.findall(r"\[\s*\{.*?\}\s*\]", prompt, re.DOTALL)
    return [row for text in found for row in rows_in(text)]


def _columns(columns: Sequence[str]) -> str:
    return f"Columns: name; {'; '.join(columns)}."


def _find(of: str) -> Task:
    prompt = f"Find all {of}. Answer with a JSON list of their names."
    schema = json.dumps({"type": "array", "items": {"type": "string"}})
    return _task(prompt, schema=schema)


def _task(prompt: str, needs: Sequence[int] = (), schema: str = "", **more: Any) -> Task:
    output = {"kind": "json", "json_schema": schema}
    return {"agent": "Reader", "prompt": prompt, "depends_on": [*needs], "output": output, **more}


def row_schema(columns: Sequence[str]) -> dict[str, Any]:
    """Return the schema of a row: all of its columns, as texts."""
    names = ["name", *columns]
    fields = {name: {"type": "string"} for name in names}
    return {"type": "object", "properties": fields, "required": names}


def _rows_schema() -> str:
    return json.dumps({"type": "array", "items": {"type": "object", "required": ["name"]}})


def _row_of(items: Any, columns: Sequence[str]) -> Task:
    prompt = f"Fill the row of {{item}}. {_columns(columns)}"
    return _task(prompt, schema=json.dumps(row_schema(columns)), for_each=items)


def _named_rows(names: Sequence[str], columns: Sequence[str], needs: Sequence[int] = ()) -> Task:
    prompt = f"Make a table of these works: {'; '.join(names)}. {_columns(columns)}"
    return _task(prompt, needs, _rows_schema())


def _join(needs: Sequence[int]) -> Task:
    return {"collect": "list", "depends_on": [*needs]}


def _spread(wanted: Wanted) -> list[Task]:
    """Find the names, and have each row filled by itself."""
    if wanted.of:
        rows = _row_of({"items": "S1", "max_items": 300}, wanted.columns)
        return [_find(wanted.of), rows, _join([2])]
    return [_row_of({"items": [*wanted.names]}, wanted.columns), _join([1])]


def _halves(columns: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    middle = max(1, len(columns) // 2)
    return columns[:middle], columns[middle:]


def _fixed(wanted: Wanted, *, waves: bool = False) -> list[Task]:
    """Divide the names into parts, and the columns into two, whatever will be found."""
    first, second = _halves(wanted.columns)
    tasks: list[Task] = [_find(wanted.of)] if wanted.of else []
    names = [*wanted.names]
    count = SHARES if wanted.of else min(SHARES, len(names))
    for n in range(count):
        if wanted.of:
            prompt = f"Take part {n + 1} of {count} of the names. {_columns(first)}"
            tasks.append(_task(prompt, [1], _rows_schema()))
        else:
            tasks.append(_named_rows(names[n::count], first))
    begin = len(tasks) - count + 1
    for n in range(count):
        prompt = f"Add columns to part {n + 1} of the table. {_columns(second)}"
        more = {}
        if waves:
            others = [{"step": f"S{begin + m}", "exists": True} for m in range(count)]
            more = {"when": {"all": others} if count > 1 else others[0]}
        tasks.append(_task(prompt, [begin + n], _rows_schema(), **more))
    return [*tasks, _join(range(begin + count, begin + 2 * count))]


def _waves(wanted: Wanted) -> list[Task]:
    """Do as `_fixed` does, but have the second columns wait for all of the first."""
    return _fixed(wanted, waves=True)


def _serial(wanted: Wanted) -> list[Task]:
    """Have one part after another added to the table."""
    tasks: list[Task] = [_find(wanted.of)] if wanted.of else []
    names = [*wanted.names]
    if len(names) == 1:
        first, second = _halves(wanted.columns)
        add = _task(f"Add columns to the table. {_columns(second)}", [1], _rows_schema())
        return [_named_rows(names, first), add]
    count = SERIAL_SHARES if wanted.of else min(SERIAL_SHARES, len(names))
    for n in range(count):
        before = [len(tasks)] if n else []
        if wanted.of:
            prompt = f"Take part {n + 1} of {count} of the names. {_columns(wanted.columns)}"
            tasks.append(_task(prompt, [1, *before], _rows_schema()))
        else:
            tasks.append(_named_rows(names[n::count], wanted.columns, before))
    return tasks
