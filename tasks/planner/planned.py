"""A plan as a capable model is asked for it: its parts, and their JSON Schema. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from functools import cache
from typing import Annotated, Any, cast, get_args

from pydantic import BaseModel, BeforeValidator, Field, model_validator

from ...errors import PlanError
from ...models.answers.shapes import normal_name
from ...plan.conditions import Condition
from ...plan.items import is_pattern, names_matching, pattern_of
from ...plan.output import WORKSPACE, Form, OutputKind
from ...plan.places import has_items
from ...plan.program import BestOf, Collect, ForEach, ParameterValue, Repeat, Review
from ...plan.step import placed_steps
from ...plan.task_ir import PlanRules, TaskIR, Tier, final_step, parse_plan
from ...plan.templates import fields_in
from .condition_text import ConditionTextError, read_condition
from .program import PROGRAM_WORDS, add_procedures, add_words

__all__ = [
    "InnerWritten",
    "PlannedOutput",
    "PlannedTask",
    "Subagent",
    "WrittenPlan",
    "plan_schema",
    "whole_plan_schema",
]


class PlannedExample(BaseModel):
    """A call of the step's code, and what it has to give."""

    call: str = Field(description="A Python expression over the names that the code defines.")
    gives: str = Field(description="Its value, as JSON.")


class PlannedOutput(BaseModel):
    """What an assignment has to produce; what is stated here is checked."""

    kind: OutputKind = Field(
        default="text", description="patch is a change of files of the workspace."
    )
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
    only: list[str] = Field(
        default_factory=list[str],
        description="For patch: the files that it may change, such as src/**; all where empty.",
    )
    may_change: list[str] = Field(
        default_factory=list[str],
        description="For patch: tests that it is to change, such as tests/test_a.py; new ones "
        "it may add anyway.",
    )

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


def _no_text(condition: object) -> object:
    """Say of a condition that is still a text why it couldn't be read as one."""
    if isinstance(condition, str):
        try:
            read_condition(condition)
        except ConditionTextError as error:
            raise ValueError(str(error)) from None
    return condition


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
    when: Annotated[Condition | None, BeforeValidator(_no_text)] = None
    for_each: ForEach | None = None
    repeat: Repeat | None = None
    plan: InnerWritten | None = None
    collect: Collect | None = None
    review: Review | None = None
    best_of: BestOf | None = None
    procedure: str = ""
    parameters: dict[str, ParameterValue] = Field(default_factory=dict[str, ParameterValue])

    @model_validator(mode="before")
    @classmethod
    def _who_does_nothing_itself_needs_no_agent(cls, data: object) -> object:
        if isinstance(data, dict):
            fields = cast("dict[str, object]", data)
            if fields.get("plan") or fields.get("collect") or fields.get("procedure"):
                return {"agent": "", "prompt": "", **fields}
        return cast("object", data)

    def data(
        self,
        number: int,
        agents: list[str],
        inputs: Collection[str] = (),
        procedures: Collection[str] = (),
    ) -> dict[str, Any]:
        """Return it as a step of a plan.

        Args:
            number: Its position, from 1.
            agents: The names of the agents that it may name.
            inputs: The names of the inputs that there are.
            procedures: The names of the procedures that there are.

        Raises:
            PlanError: A text is not valid JSON, or it has both a plan and a procedure; says whose.
        """
        step: dict[str, Any] = {
            "id": f"S{number}",
            "agent": _meant(self.agent, agents),
            "prompt": self.prompt,
            "depends_on": [f"S{need}" for need in dict.fromkeys(self.depends_on)],
            "output": self.output.data(f"S{number}"),
            "gates": self.gates,
            "inputs": self.inputs,
        }
        words = self.model_dump(
            mode="json", by_alias=True, exclude_unset=True, include={*PROGRAM_WORDS} - {"plan"}
        )
        step |= {name: value for name, value in words.items() if value is not None}
        for name, field in (("review", "agent"), ("best_of", "judge")):
            if field in step.get(name, {}):
                step[name][field] = _meant(step[name][field], agents)
        if self.plan is not None:
            step["plan"] = self.plan.data(agents, inputs, procedures)
        if self.procedure or self.parameters:
            step |= self._procedure(number, procedures)
        return _reading_its_own(step, inputs)

    def _procedure(self, number: int, procedures: Collection[str]) -> dict[str, Any]:
        """Return what a step has that is a procedure."""
        if self.procedure and self.plan is not None:
            raise PlanError(
                f"The plan breaks a rule: step S{number} has both a procedure and a plan.",
                "Give one of them.",
            )
        found = {
            "procedure": _meant(self.procedure, [*procedures]),
            "parameters": self.parameters,
        }
        # Who is to do nothing does it.
        return found if self.prompt.strip() or not self.procedure else {**found, "agent": ""}


def _reading_its_own(step: dict[str, Any], inputs: Collection[str]) -> dict[str, Any]:
    """Return a step that is for each of some inputs such that each instance reads its own alone.

    Names of inputs in a list mean these inputs, and a pattern has no need of their names in
    `inputs`: with them each instance would read all of them.
    """
    for_each: dict[str, Any] = step.get("for_each") or {}
    items = for_each.get("items")
    listed = cast("list[object]", items) if isinstance(items, list) else []
    names = [each for each in listed if isinstance(each, str) and each in inputs]
    if names and len(names) == len(listed):
        others = [name for name in inputs if name not in names]
        if (pattern := pattern_of(names, others)) is None:
            return step
        step = {**step, "for_each": {**for_each, "items": pattern}}
        items = pattern
    if not isinstance(items, str) or not is_pattern(items) or items in inputs:
        return step
    own = set(names_matching(items, inputs))
    if len(own) > 1 and own <= {*(step["inputs"] or ())}:
        more = [name for name in step["inputs"] if name not in own]
        step = {**step, "inputs": more or None}
    return step


class InnerWritten(BaseModel):
    """The plan inside an assignment; positions count from 1 in it."""

    create_subagent: list[Subagent] = Field(default_factory=list[Subagent])
    assign_task: list[PlannedTask]
    final_step: int | None = None

    def data(
        self, agents: list[str], inputs: Collection[str] = (), procedures: Collection[str] = ()
    ) -> dict[str, Any]:
        """Return it as a plan has it.

        Args:
            agents: The names of the agents around it.
            inputs: The names of the inputs that there are.
            procedures: The names of the procedures that there are.

        Raises:
            PlanError: A text is not valid JSON; says whose.
        """
        own = [agent.name for agent in self.create_subagent]
        return {
            "agents": [agent.model_dump() for agent in self.create_subagent],
            "steps": [
                task.data(number, [*agents, *own], inputs, procedures)
                for number, task in enumerate(self.assign_task, 1)
            ],
            "final_step": f"S{self.final_step}" if self.final_step else None,
        }


class WrittenPlan(BaseModel):
    """Who works, and on what."""

    create_subagent: list[Subagent]
    assign_task: list[PlannedTask]
    look_after: list[int] = Field(
        default_factory=list[int],
        description="1-based positions of the assignments after which you have your next turn.",
    )

    def plan(self, objective: str, rules: PlanRules | None = None) -> TaskIR:
        """Return the plan it stands for.

        Raises:
            PlanError: It breaks a rule of the plan language.
        """
        try:
            inputs = (rules.inputs if rules else None) or ()
            procedures = (rules.procedures if rules else None) or ()
            plan = parse_plan(self._data(objective, inputs, procedures), rules)
        except PlanError as error:
            raise PlanError(error.problem, error.fix, self.model_dump_json()) from None
        if problem := _without_items(plan, objective):
            raise PlanError(problem, "Write it as asked.", self.model_dump_json())
        return plan.model_copy(update={"final_step": final_step(plan.steps)})

    def _data(
        self, objective: str, inputs: Collection[str], procedures: Collection[str]
    ) -> dict[str, Any]:
        agents = [agent.name for agent in self.create_subagent]
        return {
            "objective": objective,
            "agents": [agent.model_dump() for agent in self.create_subagent],
            "steps": [
                task.data(number, agents, inputs, procedures)
                for number, task in enumerate(self.assign_task, 1)
            ],
        }


_CODE = re.compile(r"```.*?```|`[^`]*`", re.DOTALL)


def _without_items(plan: TaskIR, objective: str) -> str:
    """Say which step names an item where no step of the plan is for each; "" if none does.

    A person may write braces that mean nothing. A planner means an item by them, unless they are
    in code or the objective has them.
    """
    if has_items(plan.steps):
        return ""  # then the plan's own rules say so
    meant = {*fields_in(objective)}
    for place in placed_steps(plan.agents, plan.steps):
        for name in fields_in(_CODE.sub("", place.step.prompt)):
            if name not in meant:
                shown = f"{{item.{name}}}" if name else "{item}"
                return (
                    f"The plan breaks a rule: step {place.id} names {shown} in its prompt, and is "
                    f"done once: give it for_each, or leave {shown} out."
                )
    return ""


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


def plan_schema(
    *,
    inputs: bool,
    toolsets: Collection[str] = (),
    program: bool = False,
    turns: bool = False,
    procedures: Mapping[str, Collection[str]] | None = None,
) -> dict[str, Any]:
    """Return the JSON Schema of a plan. No part of it leads back to itself.

    Args:
        inputs: Whether there are inputs that an assignment may name.
        toolsets: Names of the toolsets that a subagent may have.
        procedures: The procedures that an assignment may be, with the names of their parameters.
        program: Whether assignments may depend on what is found.
        turns: Whether more may be assigned later.
    """
    schema = WrittenPlan.model_json_schema()
    definitions = schema["$defs"]
    of_subagent = definitions["Subagent"]["properties"]
    if toolsets:
        of_subagent["tools"]["items"]["enum"] = sorted(toolsets)
    else:
        del of_subagent["tools"]
    if WORKSPACE not in toolsets:
        of_output = definitions["PlannedOutput"]["properties"]
        kinds = [kind for kind in get_args(OutputKind) if kind != "patch"]
        of_output["kind"] = {"default": "text", "enum": kinds, "title": "Kind", "type": "string"}
        for word in ("only", "may_change"):
            del of_output[word]
    of_task = definitions["PlannedTask"]["properties"]
    if not inputs:
        del of_task["inputs"]
    if not turns:
        del schema["properties"]["look_after"]
    for word in (*PROGRAM_WORDS, "procedure", "parameters"):
        del of_task[word]
    for name in definitions.keys() - _SHOWN:
        del definitions[name]
    if program:
        add_words(schema, "PlannedTask")
    if procedures:
        add_procedures(schema, "PlannedTask", procedures)
    return schema


_SHOWN = {"Subagent", "PlannedTask", "PlannedOutput", "PlannedExample"}
