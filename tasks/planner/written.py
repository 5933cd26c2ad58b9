"""A plan as a capable model writes it, and what is wrong with it. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from functools import cache
from typing import Any, NamedTuple, cast, get_args

from pydantic import BaseModel, Field, ValidationError
from pydantic_ai.messages import ModelResponse, ToolCallPart
from pydantic_core import ErrorDetails

from ...errors import PlanError
from ...models.answers.call_text import read_call_text
from ...models.answers.lenient_json import JsonProblem, read_json
from ...models.answers.reasoning import split_reasoning
from ...models.answers.shapes import Shaped, normal_name, offered_name, shaped
from ...plan.output import Form, OutputKind
from ...plan.task_ir import PlanRules, TaskIR, Tier, final_step, parse_plan
from ...text import without_surrogates
from ..subagent.answer import extract

__all__ = [
    "PLAN_TOOL",
    "PlannedOutput",
    "ReadPlan",
    "WrittenPlan",
    "plan_data",
    "plan_problems",
    "plan_schema",
    "read_answer",
    "whole_plan_schema",
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


class PlannedExample(BaseModel):
    """A call of the step's code, and what it has to give."""

    call: str = Field(description="A Python expression over the names that the code defines.")
    gives: str = Field(description="Its value, as JSON.")


class PlannedOutput(BaseModel):
    """What an assignment has to produce; what is stated here is checked."""

    kind: OutputKind = "text"
    examples: list[PlannedExample] = Field(
        default_factory=list[PlannedExample],
        description="For python: calls whose value follows from the objective.",
    )
    json_schema: str = Field(default="", description="For json: its JSON Schema 2020-12, as JSON.")
    sections: list[str] = Field(
        default_factory=list[str], description="For text: headings it has to have, in order."
    )
    min_words: int | None = Field(default=None, description="For text.")
    max_words: int | None = Field(default=None, description="For text.")
    form: Form | None = Field(default=None, description="For text: what the whole of it has to be.")

    def data(self, step: str) -> dict[str, Any]:
        """Return it as a plan has it.

        Raises:
            PlanError: A text is not valid JSON; says whose.
        """
        dumped: dict[str, Any] = self.model_dump(exclude={"examples", "json_schema"})
        dumped["examples"] = [
            {
                "call": example.call,
                "gives": _value(example.gives, f"{step}.output.examples.{number}.gives"),
            }
            for number, example in enumerate(self.examples)
        ]
        if self.json_schema.strip():
            dumped["schema"] = _value(self.json_schema, f"{step}.output.json_schema")
        return dumped


def _value(text: str, place: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        problem = f"step {place}: {text[:80]!r} is not valid JSON: {error}"
        raise PlanError(problem, "Write it as JSON.") from None


class Subagent(BaseModel):
    """A specialist to create."""

    name: str
    system_prompt: str
    tier: Tier = "worker"
    tools: list[str] = Field(
        default_factory=list[str],
        description="The toolsets that its assignments can't do without; most need none.",
    )


class PlannedTask(BaseModel):
    """A piece of work for one subagent."""

    agent: str = Field(description="The name of a created subagent.")
    prompt: str
    depends_on: list[int] = Field(
        default_factory=list[int], description="1-based positions of earlier assignments."
    )
    output: PlannedOutput = PlannedOutput()
    gates: list[str] | None = Field(
        default=None, description="Checks its output must pass; null takes the output kind's own."
    )
    inputs: list[str] | None = Field(
        default=None,
        description="Names of the given inputs that it reads; null is all of them if it depends on "
        "nothing, else none.",
    )


class WrittenPlan(BaseModel):
    """Who works, and on what."""

    create_subagent: list[Subagent]
    assign_task: list[PlannedTask]

    def plan(self, objective: str, rules: PlanRules | None = None) -> TaskIR:
        """Return the plan it stands for.

        Raises:
            PlanError: It breaks a rule of the plan language.
        """
        try:
            plan = parse_plan(self._data(objective), rules)
        except PlanError as error:
            raise PlanError(error.problem, error.fix, self.model_dump_json()) from None
        return plan.model_copy(update={"final_step": final_step(plan.steps)})

    def _data(self, objective: str) -> dict[str, Any]:
        agents = [agent.name for agent in self.create_subagent]
        steps = [
            {
                "id": f"S{number}",
                "agent": _meant(task.agent, agents),
                "prompt": task.prompt,
                "depends_on": [f"S{need}" for need in dict.fromkeys(task.depends_on)],
                "output": task.output.data(f"S{number}"),
                "gates": task.gates,
                "inputs": task.inputs,
            }
            for number, task in enumerate(self.assign_task, 1)
        ]
        return {
            "objective": objective,
            "agents": [agent.model_dump() for agent in self.create_subagent],
            "steps": steps,
        }


class ReadPlan(NamedTuple):
    """A plan, and what was mended to read it, in words."""

    plan: TaskIR
    mended: tuple[str, ...]


def _meant(name: str, agents: list[str]) -> str:
    """Return the agent that a name means: the only one that it is except for case and marks."""
    if name in agents:
        return name
    alike = {agent for agent in agents if normal_name(agent) == normal_name(name)}
    return alike.pop() if len(alike) == 1 else name


@cache
def whole_plan_schema() -> dict[str, Any]:
    """Return the JSON Schema of a plan with all that a plan may have."""
    return WrittenPlan.model_json_schema()


def plan_schema(*, inputs: bool, toolsets: Collection[str] = ()) -> dict[str, Any]:
    """Return the JSON Schema of a plan.

    Args:
        inputs: Whether there are inputs that an assignment may name.
        toolsets: Names of the toolsets that a subagent may have.
    """
    schema = WrittenPlan.model_json_schema()
    of_subagent = schema["$defs"]["Subagent"]["properties"]
    if toolsets:
        of_subagent["tools"]["items"]["enum"] = sorted(toolsets)
    else:
        del of_subagent["tools"]
    if not inputs:
        del schema["$defs"]["PlannedTask"]["properties"]["inputs"]
    return schema


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
        plan = WrittenPlan.model_validate(found.value).plan(objective, rules)
    except ValidationError as error:
        problem = f"That is not a plan: {plan_problems(error)}."
        raise PlanError(problem, "Write it as asked.", text) from None
    return ReadPlan(plan, (*mended, *found.mended))


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
