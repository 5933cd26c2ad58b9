"""The plan language: what an orchestrator model, or a person, writes.

A `TaskIR` that validates is a DAG by construction, since a step may depend only on steps before it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self, cast

from pydantic import (
    BeforeValidator,
    Field,
    StringConstraints,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from ..errors import InputError, PlanError
from ..files import read_text
from ..inputs.contents import named_problem
from ..text import without_surrogates
from ..untrusted.json_text import STEP_ID, NoJsonError, describe, is_nested_over, read_json
from .conditions import Condition
from .output import Example, Form, Output, OutputKind, PlanPart, Text, Texts, as_tuple
from .program import BestOf, Collect, ForEach, Repeat, Review

__all__ = [
    "ANY_AGENT",
    "MAX_ITEMS",
    "MAX_STEPS",
    "TIERS",
    "Agent",
    "Escalation",
    "Example",
    "Form",
    "Output",
    "OutputKind",
    "PlanRules",
    "Step",
    "StepSettings",
    "StoredPlan",
    "TaskIR",
    "TaskType",
    "Tier",
    "TierName",
    "check_objective",
    "describe",
    "final_step",
    "is_orchestrated",
    "load_plan",
    "parse_plan",
    "stored_plan",
    "with_any_agent",
]


ANY_AGENT = "any"
"""The agent of steps that the memory may give to the persona that does such work best."""
_ANY: dict[str, Any] = {
    "name": ANY_AGENT,
    "system_prompt": "You do one step of a larger job, completely and carefully.",
}

MAX_ITEMS = 300
"""The most items `TaskIR.from_items` maps a template over."""
MAX_STEPS = MAX_ITEMS + 1
"""Steps a plan may have where nothing says otherwise: one for each item and one that joins them."""


class PlanRules(NamedTuple):
    """Limits that come from outside the plan; pass as the validation context.

    Attributes:
        max_steps: The most steps the plan may have.
        gates: The gates that exist, or None to leave gate names unchecked.
        inputs: Names of the run's inputs in addition to the plan's own, or None to leave the
            names that steps read unchecked.
        toolsets: The toolsets that agents may have, or None to leave their names unchecked.
    """

    max_steps: int = MAX_STEPS
    gates: frozenset[str] | None = None
    inputs: frozenset[str] | None = None
    toolsets: frozenset[str] | None = None


def with_any_agent(plan: object) -> object:
    """Return a plan's data with the agent `any`, if one of its steps names it and none creates it.

    What is not a plan is returned as it is.
    """
    if not isinstance(plan, dict):
        return plan
    fields = cast("dict[str, Any]", plan)
    agents, steps = fields.get("agents", ()), fields.get("steps", ())
    if not isinstance(agents, list | tuple) or not isinstance(steps, list | tuple):
        return fields
    created = [_field(agent, "name") for agent in cast("list[object]", agents)]
    named = [_field(step, "agent") for step in cast("list[object]", steps)]
    if ANY_AGENT in created or ANY_AGENT not in named:
        return fields
    return {**fields, "agents": [*cast("list[object]", agents), _ANY]}


def _field(part: object, name: str) -> object:
    if isinstance(part, dict):
        return cast("dict[str, object]", part).get(name)
    return getattr(part, name, None)


class StepSettings(PlanPart):
    """How a step's model is asked; what is None is left to its tier, or to the model."""

    temperature: float | None = Field(
        default=None,
        ge=0,
        allow_inf_nan=False,
        description="How much chance is in the choice of tokens; 0 for none.",
    )
    top_p: float | None = Field(
        default=None,
        gt=0,
        le=1,
        description="Share of the likeliest tokens that are chosen from.",
    )
    seed: int | None = Field(
        default=None,
        ge=0,
        description="Seed of sampling.",
    )
    max_output_tokens: int | None = Field(
        default=None,
        ge=1,
        description="Tokens a call may write.",
    )
    max_input_tokens: int | None = Field(
        default=None,
        ge=1,
        description="Tokens of earlier outputs it may read.",
    )
    thinking: Literal["minimal", "low", "medium", "high"] | bool | None = Field(
        default=None, description="How long a model thinks that can; true is as it does by itself."
    )


Tier = Literal["worker", "coder", "architect"]
TIERS: tuple[Tier, ...] = ("worker", "coder", "architect")
"""The tiers, cheapest first."""
TierName = Literal["worker", "coder", "architect", "orchestrator"]
"""Whatever has a model of its own: a subagents' tier, or the orchestrator."""
TaskType = Literal["chat", "doc", "code", "ingest", "manage"]

_DEEPEST = 100
"""Levels of lists and objects; a JSON Schema within a plan has no more than 64."""
_Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=80)]
_AgentOfStep = Annotated[str, StringConstraints(strip_whitespace=True, max_length=80)]
_StepId = Annotated[str, StringConstraints(pattern=rf"^{STEP_ID.pattern}$")]


class Agent(PlanPart):
    """A subagent that the orchestrator invents: `create_subagent(name, system_prompt)`."""

    name: _Name = Field(description="What steps call it by, once a plan.")
    system_prompt: Text = Field(description="What it is told about itself with each step.")
    tier: Tier = Field(default="worker", description="The tier whose model it begins on.")
    tools: Texts = Field(default=(), description="Names of the toolsets that it works with.")


class Step(PlanPart):
    """A piece of work for one agent: `assign_task(agent, prompt)` and what it needs."""

    id: _StepId = Field(description="`S` and a number.")
    agent: _AgentOfStep = Field(
        default="", description="The name of the agent that does it; `any` needs no creating."
    )
    prompt: Annotated[str, StringConstraints(strip_whitespace=True)] = Field(
        default="", description="What is to be done, complete in itself."
    )
    depends_on: Annotated[tuple[_StepId, ...], BeforeValidator(as_tuple)] = Field(
        default=(), description="Earlier steps whose outputs it reads."
    )
    output: Output = Field(default=Output(), description="What it has to produce.")
    gates: Texts | None = Field(
        default=None,
        description="Gates its artifact must pass; null takes the output kind's own, `+name` and "
        "`-name` change those, `name?` is tried and stops nothing.",
    )
    timeout_s: float | None = Field(
        default=None, gt=0, allow_inf_nan=False, description="Seconds an attempt may take."
    )
    optional: bool = Field(default=False, description="The plan succeeds without this step.")
    model: str = Field(
        default="", description="The model that does it, instead of its tier's; empty for that one."
    )
    settings: StepSettings = Field(default=StepSettings(), description="How its model is asked.")
    inputs: Texts | None = Field(
        default=None,
        description="Names of the inputs that it reads beside the outputs of `depends_on`; null "
        "reads all of them if it depends on nothing, else none.",
    )
    approval: bool = Field(default=False, description="Whether a person is asked before it begins.")
    when: Condition | None = Field(
        default=None, description="The condition without which it is skipped."
    )
    for_each: ForEach | None = Field(default=None, description="The items it is done for.")
    repeat: Repeat | None = Field(default=None, description="How often it is done again.")
    plan: InnerPlan | None = Field(
        default=None, description="Steps that are done in place of its agent and prompt."
    )
    collect: Collect | None = Field(
        default=None, description="How the outputs that it reads are joined, without a model."
    )
    review: Review | None = Field(default=None, description="Who reviews what it made.")
    best_of: BestOf | None = Field(
        default=None, description="How many samples are drawn, and who chooses."
    )


class InnerPlan(PlanPart):
    """A plan inside a step."""

    agents: Annotated[tuple[Agent, ...], BeforeValidator(as_tuple)] = Field(
        default=(), description="Agents beside those of the plan around it."
    )
    steps: Annotated[tuple[Step, ...], BeforeValidator(as_tuple)] = Field(
        min_length=1, description="What is done, each step after those that it needs."
    )
    final_step: _StepId | None = Field(
        default=None, description="The step whose output is the outer step's output."
    )


class Escalation(PlanPart):
    """How far a failing step may go."""

    max_attempts: int | None = Field(default=None, ge=1, description="Attempts a step may take.")
    max_tier: Tier = Field(default="architect", description="The highest tier to escalate to.")


class TaskIR(PlanPart):
    """An objective, decomposed. Steps stand in an order in which each needs only earlier ones."""

    objective: Text = Field(description="What is wanted, in plain words.")
    task_type: TaskType = Field(default="chat", description="The kind of work, for the memory.")
    inputs: dict[str, str] = Field(
        default_factory=dict, description="Texts that steps may read, by name."
    )
    constraints: Texts = Field(default=(), description="What every agent has to keep to.")
    assumptions: Texts = Field(default=(), description="What every agent may take for granted.")
    agents: Annotated[tuple[Agent, ...], BeforeValidator(as_tuple)] = Field(
        min_length=1, description="Who does the steps; names are distinct."
    )
    steps: Annotated[tuple[Step, ...], BeforeValidator(as_tuple)] = Field(
        min_length=1, description="What is done, each step after those that it needs."
    )
    final_step: _StepId | None = Field(
        default=None, description="The step whose output is the answer as it stands."
    )
    definition_of_done: Texts = Field(default=(), description="What the answer has to fulfil.")
    escalation: Escalation = Field(
        default=Escalation(), description="How far a failing step may go."
    )

    _add_any_agent = model_validator(mode="before")(with_any_agent)

    @field_validator("agents")
    @classmethod
    def _agents_are_distinct(cls, agents: tuple[Agent, ...]) -> tuple[Agent, ...]:
        if twice := _first_repeated(agent.name for agent in agents):
            raise ValueError(f"agent {twice!r} is created twice")
        return agents

    @model_validator(mode="after")
    def _steps_fit_together(self, info: ValidationInfo) -> Self:
        rules = info.context if isinstance(info.context, PlanRules) else PlanRules()
        if len(self.steps) > rules.max_steps:
            raise ValueError(
                f"{len(self.steps)} steps are more than the limit of {rules.max_steps}"
            )
        agents = {agent.name for agent in self.agents}
        if rules.toolsets is not None:
            _check_toolsets(self.agents, rules.toolsets)
        earlier: set[str] = set()
        assigned: dict[tuple[str, str], str] = {}
        ids = {step.id for step in self.steps}
        for step in self.steps:
            if step.id in earlier:
                raise ValueError(f"step {step.id} is there twice")
            if step.agent not in agents:
                raise ValueError(f"step {step.id} is assigned to an unknown agent {step.agent!r}")
            _check_dependencies(step, earlier, ids)
            if other := assigned.get((step.agent, step.prompt)):
                raise ValueError(f"step {step.id} gives {step.agent!r} the same prompt as {other}")
            _check_gates(step, rules.gates)
            _check_reviewers(step, self.agents)
            if rules.inputs is not None:
                _check_inputs(step, rules.inputs.union(self.inputs))
            assigned[step.agent, step.prompt] = step.id
            earlier.add(step.id)
        if self.final_step is not None and self.final_step not in ids:
            raise ValueError(f"final_step {self.final_step} is not a step of the plan")
        return self

    @classmethod
    def from_items(
        cls,
        prompt_template: str,
        items: Sequence[str],
        *,
        objective: str | None = None,
        join: str | None = None,
        agent: Agent | None = None,
    ) -> TaskIR:
        """Map one template over many items, one step each, all of them independent.

        Args:
            prompt_template: A prompt that holds `{item}` at least once.
            items: 2 to 300 items that give no prompt twice.
            objective: What it is all for; made from the template when left out.
            join: The prompt of a last step that reads every other step's output.
            agent: Who does the items; a plain worker when left out.

        Raises:
            PlanError: The template has no `{item}`, the items are too few, too many or repeated,
                or a prompt is blank.
        """
        if "{item}" not in prompt_template:
            raise PlanError(
                f"The prompt template {prompt_template!r} has no {{item}}.",
                "Write {item} where each item belongs.",
            )
        if not 2 <= len(items) <= MAX_ITEMS:
            raise PlanError(f"{len(items)} items were given.", f"Give 2 to {MAX_ITEMS} items.")
        prompts = [prompt_template.replace("{item}", item).strip() for item in items]
        if twice := _first_repeated(prompts):
            raise PlanError(
                f"Two items give the same prompt {twice!r}.", "Leave out the repeated item."
            )
        agent = agent or Agent(
            name="Item Worker", system_prompt="You do one item of a larger job, completely."
        )
        plan: dict[str, Any] = {
            "objective": objective or f"{prompt_template} ({len(items)} items)",
            "agents": [agent],
            "steps": [
                {"id": f"S{n}", "agent": agent.name, "prompt": prompt}
                for n, prompt in enumerate(prompts, 1)
            ],
        }
        if join is not None:
            joiner = Agent(
                name=f"{agent.name[:70]} Lead",
                system_prompt="You join the items' results into one.",
            )
            needs = [step["id"] for step in plan["steps"]]
            last = f"S{len(items) + 1}"
            plan["agents"].append(joiner)
            plan["steps"].append(
                {"id": last, "agent": joiner.name, "prompt": join, "depends_on": needs}
            )
            plan["final_step"] = last
        return parse_plan(plan)


def stored_plan(data: object) -> object:
    """Return a plan of an earlier version's run without the field that plans no longer have."""
    if not isinstance(data, dict):
        return data
    fields = cast("dict[str, object]", data)
    return {name: value for name, value in fields.items() if name != "priority"}


StoredPlan = Annotated[TaskIR, BeforeValidator(stored_plan)]
"""A plan as a finished or interrupted run keeps it."""


def parse_plan(data: object, rules: PlanRules | None = None, *, source: str = "") -> TaskIR:
    """Validate a plan given as JSON text or as the objects JSON stands for.

    Raises:
        PlanError: It breaks a rule; the message names the step and the reason.
    """
    text = data if isinstance(data, str) else ""
    where = f" in {source}" if source else ""
    if isinstance(data, str):
        try:
            data = read_json(data, halves=True)
        except NoJsonError as error:
            raise PlanError(
                f"The plan{where} is not JSON: {error}.",
                "Write it as docs/reference/task_ir.schema.json says.",
                text,
            ) from None
    if is_nested_over(_DEEPEST, data):
        raise PlanError(
            f"The plan{where} is nested too deeply, over {_DEEPEST} levels, or contains itself.",
            "Write it as docs/reference/task_ir.schema.json says.",
            text,
        )
    try:
        return TaskIR.model_validate(without_surrogates(data), context=rules or PlanRules())
    except ValidationError as error:
        problems = "; ".join(describe(error, data))
        raise PlanError(
            f"The plan{where} breaks a rule: {problems}.",
            "Fix it; docs/reference/task_ir.schema.json has the language.",
            text,
        ) from None


def check_objective(plan: TaskIR, objective: str) -> None:
    """Refuse an objective that isn't the plan's own.

    Raises:
        InputError: They differ.
    """
    if objective.strip() != plan.objective:
        raise InputError(
            f"The objective {objective.strip()!r} is not the plan's, {plan.objective!r}.",
            "Give the plan's own objective, or leave the plan out.",
        )


def load_plan(path: Path, rules: PlanRules | None = None) -> TaskIR:
    """Read a plan file; `-` is standard input.

    Raises:
        PlanError: It can't be read, isn't JSON, or breaks a rule.
    """
    try:
        text = read_text(path, "plan file")
    except InputError as error:
        raise PlanError(error.problem, error.fix) from None
    source = "standard input" if str(path) == "-" else str(path)
    return parse_plan(text, rules, source=source)


def final_step(steps: Sequence[Step]) -> str | None:
    """Return the step that joins the plan: the only one nothing needs, and it needs all others."""
    needed = {need for step in steps for need in step.depends_on}
    # A step that nothing needs is the last of some chain; if it is the only one, all lead to it.
    ends = [step.id for step in steps if step.id not in needed]
    return ends[0] if len(ends) == 1 else None


def is_orchestrated(plan: TaskIR | None) -> bool:
    """Say whether the orchestrator has a plan to write, or an answer from several ends."""
    return plan is None or (plan.final_step or final_step(plan.steps)) is None


def _check_dependencies(step: Step, earlier: set[str], ids: set[str]) -> None:
    for needed in step.depends_on:
        if needed == step.id:
            raise ValueError(f"step {step.id} depends on itself")
        if needed not in ids:
            raise ValueError(f"step {step.id} depends on {needed}, which is not a step of the plan")
        if needed not in earlier:
            raise ValueError(f"step {step.id} depends on {needed}, which comes later")
    if twice := _first_repeated(step.depends_on):
        raise ValueError(f"step {step.id} names its dependency {twice} twice")


def _check_gates(step: Step, known: frozenset[str] | None) -> None:
    for choice in step.gates or ():
        gate = choice.lstrip("+-").removesuffix("?")
        if known is not None and gate not in known:
            names = ", ".join(sorted(known))
            raise ValueError(f"step {step.id} names an unknown gate {gate!r}; there are {names}")


def _check_reviewers(step: Step, agents: Iterable[Agent]) -> None:
    """Refuse a reviewer or judge that there isn't, or that works with tools."""
    found = {agent.name: agent for agent in agents}
    asked = (
        ("review", step.review.agent if step.review else ""),
        ("best_of", step.best_of.judging_agent if step.best_of else ""),
    )
    for where, name in asked:
        if name and name not in found:
            known = ", ".join(map(repr, found))
            raise ValueError(
                f"step {step.id} names an unknown agent {name!r} in {where}; there are {known}"
            )
        if name and found[name].tools:
            raise ValueError(
                f"step {step.id} names {name!r} in {where}, who works with tools; whoever reviews "
                "or judges only reads: name an agent without tools"
            )


def _check_toolsets(agents: Iterable[Agent], known: frozenset[str]) -> None:
    for agent in agents:
        for name in set(agent.tools) - known:
            names = ", ".join(sorted(known)) or "none"
            raise ValueError(f"{agent.name!r} names an unknown toolset {name!r}; there are {names}")


def _check_inputs(step: Step, known: Collection[str]) -> None:
    if problem := named_problem(step.inputs or (), known):
        raise ValueError(f"step {step.id} {problem}")


def _first_repeated(values: Iterable[str]) -> str | None:
    seen: set[str] = set()
    for value in values:
        if value in seen:
            return value
        seen.add(value)
    return None
