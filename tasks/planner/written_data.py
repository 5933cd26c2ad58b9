"""A plan's data as models write it: in the form of a plan, and what is wrong with it. Pure."""

from __future__ import annotations

import json
import re
from typing import Any, cast, get_args

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from ...blocks.answers.shaped import Shaped, shaped
from ...output import OutputKind

__all__ = ["plan_data", "plan_problems"]

_KINDS = frozenset(get_args(OutputKind))
_POSITION = re.compile(r"(?:s|step |task |assignment )?([1-9][0-9]{0,5})", re.IGNORECASE)
_MOST_PROBLEMS = 10
_LONGEST_VALUE = 60

_LISTS = {"create_subagent": "subagent", "assign_task": "assignment"}
_MISSING = {
    "create_subagent": "the list of subagents, each with name and system_prompt",
    "assign_task": "the list of assignments, each with agent and prompt",
}
_DUE = {
    "string_type": "a text in quotation marks",
    "list_type": "a list in [ ]",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "model_type": "an object in { }",
    "model_attributes_type": "an object in { }",
    "dict_type": "an object in { }",
}


def plan_data(value: Any, schema: dict[str, Any]) -> Shaped:
    """Return what was read of a plan in the shape of a plan, where it has one meaning in it.

    Args:
        value: What the JSON says.
        schema: The JSON Schema of a plan.
    """
    outer = shaped(value, schema)
    if not isinstance(outer.value, dict):
        return outer
    plan = cast("dict[str, Any]", cast("Any", outer).value)
    if not isinstance(tasks := plan.get("assign_task"), list):
        return outer
    mended: list[str] = []
    made = [
        _task(cast("dict[str, Any]", task), f"assign_task[{number}]", mended)
        if isinstance(task, dict)
        else task
        for number, task in enumerate(cast("list[Any]", tasks))
    ]
    if not mended:
        return outer
    again = shaped({**plan, "assign_task": made}, schema)
    return Shaped(again.value, (*outer.mended, *mended, *again.mended))


def plan_problems(error: ValidationError) -> str:
    """Say what is wrong with a plan: where, what stands there, and what has to."""
    problems = error.errors(include_url=False)
    clauses = [_clause(problem) for problem in problems[:_MOST_PROBLEMS]]
    if (more := len(problems) - _MOST_PROBLEMS) > 0:
        clauses.append(f"and {more} more")
    return "; ".join(clauses)


def _task(task: dict[str, Any], place: str, mended: list[str]) -> dict[str, Any]:
    made = {**task}
    output: Any = task.get("output")
    if isinstance(output, str) and output.strip().casefold() in _KINDS:
        made["output"] = {"kind": output.strip().casefold()}
        mended.append(f"{place}.output: a kind alone made an output")
    elif isinstance(output, dict):
        made["output"] = _output(cast("dict[str, Any]", output), f"{place}.output", mended)
    needs = _positions(task.get("depends_on"))
    if needs is not None and needs != task.get("depends_on"):
        made["depends_on"] = needs
        mended.append(f"{place}.depends_on: positions written as numbers")
    return made


def _output(output: dict[str, Any], place: str, mended: list[str]) -> dict[str, Any]:
    """Return an output whose schema and values are texts of JSON, as a plan has them."""
    made = {**output}
    if "schema" in made and not made.get("json_schema"):
        made["json_schema"] = made.pop("schema")
    if not isinstance(made.get("json_schema", ""), str):
        made["json_schema"] = json.dumps(made["json_schema"], ensure_ascii=False)
    examples: Any = made.get("examples")
    if isinstance(examples, list):
        made["examples"] = [_example(each) for each in cast("list[Any]", examples)]
    if made != output:
        mended.append(f"{place}: a schema or a value written as a text of JSON")
    return made


def _example(example: Any) -> Any:
    if not isinstance(example, dict):
        return example
    fields = cast("dict[str, Any]", example)
    if "gives" not in fields or isinstance(fields["gives"], str):
        return fields
    return {**fields, "gives": json.dumps(fields["gives"], ensure_ascii=False)}


def _positions(needs: Any) -> list[int] | None:
    """Return positions that are written as `S1`, `"1"` or `"1, 2"`; None if any is no position."""
    if isinstance(needs, str):
        needs = [part for part in needs.split(",") if part.strip()]
    if not isinstance(needs, list):
        return None
    found: list[int] = []
    for need in cast("list[Any]", needs):
        if isinstance(need, int) and not isinstance(need, bool):
            found.append(need)
        elif isinstance(need, str) and (position := _POSITION.fullmatch(need.strip())):
            found.append(int(position[1]))
        else:
            return None
    return found


def _clause(problem: ErrorDetails) -> str:
    place = _place(problem["loc"])
    if not problem["loc"]:
        return f"the plan is {_shown(problem['input'])}, and has to be an object in {{ }}"
    last = str(problem["loc"][-1])
    if problem["type"] == "missing":
        return f"{place} is missing; it has to be {_MISSING.get(last, 'a text in quotation marks')}"
    due = _DUE.get(problem["type"]) or problem.get("ctx", {}).get("expected")
    due = f"has to be {due}" if due else problem["msg"].removeprefix("Value error, ")
    return f"{place} is {_shown(problem['input'])}, and {due}"


def _place(path: tuple[int | str, ...]) -> str:
    """Return a path in words: `assignment 2: output.kind`."""
    if len(path) >= 2 and path[0] in _LISTS and isinstance(path[1], int):
        rest = ".".join(map(str, path[2:]))
        return f"{_LISTS[str(path[0])]} {path[1] + 1}" + (f": {rest}" if rest else "")
    return ".".join(map(str, path))


def _shown(value: Any) -> str:
    match value:
        case dict():
            return "an object"
        case list() | tuple():
            return "a list"
        case None:
            return "null"
        case _:
            return repr(value)[:_LONGEST_VALUE]
