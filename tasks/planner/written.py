"""A plan as a capable model writes it, and what is wrong with it. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple, cast, get_args

from pydantic import ValidationError
from pydantic_ai.messages import ModelResponse, ToolCallPart
from pydantic_core import ErrorDetails

from ...errors import PlanError
from ...models.answers.call_text import read_call_text
from ...models.answers.lenient_json import JsonProblem, read_json
from ...models.answers.reasoning import split_reasoning
from ...models.answers.shapes import Shaped, offered_name, shaped
from ...plan.output import OutputKind
from ...plan.step import Step
from ...plan.task_ir import PlanRules, TaskIR
from ...plan.turns import next_number
from ...text import without_surrogates
from ..subagent.answer import extract
from .planned import WrittenPlan, whole_plan_schema
from .program_forms import Known, mend_words, step_of

__all__ = [
    "PLAN_TOOL",
    "ReadPlan",
    "plan_data",
    "plan_problems",
    "read_answer",
    "written_text",
]


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


def plan_data(value: Any, schema: dict[str, Any], earlier: Sequence[Step] = ()) -> Shaped:
    """Return what was read of a plan in the shape of a plan, where it has one meaning in it.

    Args:
        value: What the JSON says.
        schema: The JSON Schema of a plan.
        earlier: The steps that the plan has already; the numbers of its assignments go on.
    """
    outer = shaped(value, schema)
    if not isinstance(outer.value, dict):
        return outer
    plan = cast("dict[str, Any]", cast("Any", outer).value)
    if not isinstance(tasks := plan.get("assign_task"), list):
        return outer
    mended: list[str] = []
    known = Known({step.id: step for step in earlier})
    made = _tasks(cast("list[Any]", tasks), "assign_task", known, mended, next_number(earlier))
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


def _tasks(
    tasks: list[Any], place: str, known: Known, mended: list[str], first: int = 1
) -> list[Any]:
    """Return assignments as a plan has them; each is read with what is known of those before."""
    positions = _positions_of(tasks, first)
    made: list[Any] = []
    for number, task in enumerate(tasks, first):
        if isinstance(task, dict):
            named = _with_positions(cast("dict[str, Any]", task), positions)
            task = _task(named, number, f"{place}[{number - first}]", known, mended)
            if (step := step_of(task, number)) is not None:
                known.earlier[step.id] = step
        made.append(task)
    return made


def _positions_of(tasks: list[Any], first: int = 1) -> dict[str, int]:
    """Return the positions of assignments that were given names of their own."""
    named = [cast("dict[str, Any]", task).get("id") for task in tasks if isinstance(task, dict)]
    names = [name for name in named if isinstance(name, str)]
    if len(names) != len(tasks) or len(set(names)) != len(names):
        return {}
    return {name: number for number, name in enumerate(names, first)}


def _with_positions(task: dict[str, Any], positions: dict[str, int]) -> dict[str, Any]:
    """Return an assignment that names others by their positions."""
    made = {**task}
    needs: Any = made.get("depends_on")
    if positions and isinstance(needs, list):
        made["depends_on"] = [_position(need, positions) for need in cast("list[Any]", needs)]
    for_each: Any = made.get("for_each")
    if positions and isinstance(for_each, dict):
        fields = cast("dict[str, Any]", for_each)
        made["for_each"] = {**fields, "items": _position(fields.get("items"), positions)}
    return made


def _position(name: Any, positions: dict[str, int]) -> Any:
    return positions.get(name, name) if isinstance(name, str) else name


def _task(
    task: dict[str, Any], number: int, place: str, known: Known, mended: list[str]
) -> dict[str, Any]:
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
    made, item = mend_words(made, number, place, known, mended)
    if isinstance(made.get("plan"), dict):
        inner = cast("dict[str, Any]", made["plan"])
        made["plan"] = _inner(inner, f"{place}.plan", Known(item=item), mended)
    return made


_INNER_NAMES = {
    "agents": "create_subagent",
    "subagents": "create_subagent",
    "steps": "assign_task",
    "tasks": "assign_task",
    "assignments": "assign_task",
}


def _inner(plan: dict[str, Any], place: str, known: Known, mended: list[str]) -> dict[str, Any]:
    """Return a plan inside an assignment as the whole plan is written."""
    made: dict[str, Any] = {}
    for name, value in plan.items():
        meant = _INNER_NAMES.get(name, name)
        if meant != name and meant not in plan:
            mended.append(f"{place}.{meant}: written as {name!r}")
            made[meant] = value
        else:
            made[name] = value
    tasks: Any = made.get("assign_task")
    if not isinstance(tasks, list):
        return made
    inner = cast("list[Any]", tasks)
    last = _position(made.get("final_step"), _positions_of(inner))
    found = _positions([last]) if isinstance(last, str) else None
    if found is not None:
        last = found[0]
        mended.append(f"{place}.final_step: a position written as a number")
    if last is not None:
        made["final_step"] = last
    return {**made, "assign_task": _tasks(inner, place, known, mended)}


def _output(output: dict[str, Any], place: str, mended: list[str]) -> dict[str, Any]:
    """Return an output whose schema and values are texts of JSON, as a plan has them."""
    made = {**output}
    if "schema" in made and not made.get("json_schema"):
        made["json_schema"] = made.pop("schema")
    if "kind" not in made and made.get("json_schema"):
        made["kind"] = "json"
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
    """Return positions written as `S1`, `"1"` or `"1, 2"`; None if any is not a position."""
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


PLAN_TOOL = "write_plan"
"""The tool that a plan is the arguments of."""


class ReadPlan(NamedTuple):
    """A plan, what was mended to read it, in words, and after which steps the next turn is."""

    plan: TaskIR
    mended: tuple[str, ...]
    look_after: tuple[str, ...] = ()


def read_answer(answer: ModelResponse, objective: str, rules: PlanRules) -> ReadPlan:
    """Read the plan out of an answer: a call of the plan's tool, or JSON in the text.

    What is written otherwise than asked and has one meaning is taken in that.

    Raises:
        PlanError: There is none, it was cut off, or it breaks a rule; says which, and where.
    """
    text = written_text(answer)
    if answer.finish_reason == "length":
        raise PlanError("The plan was cut off before its end.", "Write a shorter plan.", text)
    value, mended = _answered(answer, text)
    found = plan_data(without_surrogates(value), whole_plan_schema())
    try:
        written = WrittenPlan.model_validate(found.value)
        plan = written.plan(objective, rules)
    except ValidationError as error:
        problem = f"That is not a plan: {plan_problems(error)}."
        raise PlanError(problem, "Write it as asked.", text) from None
    known = {step.id for step in plan.steps}
    look_after = [name for number in written.look_after if (name := f"S{number}") in known]
    return ReadPlan(plan, (*mended, *found.mended), tuple(dict.fromkeys(look_after)))


def _answered(answer: ModelResponse, text: str) -> tuple[Any, tuple[str, ...]]:
    """Return what the JSON of a plan says, and what was mended to read it."""
    written: Any = _of_calls(answer.tool_calls, text)
    if written is None:
        written = _of_text(answer, text)
    if not isinstance(written, str):
        return written, ()
    try:
        read = read_json(written)
    except JsonProblem as problem:
        raise PlanError(
            f"That is not a plan: it is not JSON, at {problem}.",
            "Write all of it as one JSON object.",
            text,
        ) from None
    return read.value, read.mended


def _of_calls(calls: Collection[ToolCallPart], text: str) -> Any:
    """Return the arguments of the call of the plan's tool; None without a call."""
    called = [(offered_name(call.tool_name, [PLAN_TOOL]), call) for call in calls]
    if strange := [call.tool_name for name, call in called if name is None]:
        raise PlanError(
            f"There is no tool {strange[0]!r}.",
            f"Call {PLAN_TOOL} once, with the whole plan.",
            text,
        )
    return (called[0][1].args or {}) if called else None


def _of_text(answer: ModelResponse, text: str) -> Any:
    """Return the arguments of a call that is written as text, or the text that is JSON."""
    answered = split_reasoning(answer.text or "").text.strip()
    if not answered:
        problem = "has reasoning and no plan" if text or answer.thinking else "is empty"
        raise PlanError(f"The answer {problem}.", "Write the plan.", text)
    found = read_call_text(answered, [PLAN_TOOL])
    if found.problem:
        raise PlanError(
            f"The answer can't be read: {found.problem}.",
            f"Call {PLAN_TOOL} once, with the whole plan, and write nothing else.",
            text,
        )
    return found.calls[0].args if found.calls else extract(answered, "json").artifact


def written_text(answer: ModelResponse) -> str:
    """Return all that a model wrote in an answer: its text, and the arguments of its calls."""
    calls = [
        call.args if isinstance(call.args, str) else call.args_as_json_str()
        for call in answer.tool_calls
    ]
    return "\n".join([answer.text or "", *calls]).strip()
