"""The plan language: what an orchestrator model, or a person, writes.

A `TaskIR` that validates is a DAG by construction, since a step may depend only on steps before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Self, cast

from pydantic import (
    BeforeValidator,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from ..errors import InputError, PlanError
from ..files import read_text
from ..inputs.selection import has_wildcard
from ..text import without_surrogates
from ..untrusted.json_text import NoJsonError, describe, is_nested_over, read_json
from .output import Example, Form, Output, OutputKind, PlanPart, Text, Texts, as_tuple
from .program import Collect
from .rules import MAX_DEPTH, MAX_ITEMS, MAX_STEPS, PlanRules, check_steps, first_repeated
from .step import (
    TIERS,
    Agent,
    InnerPlan,
    Step,
    StepId,
    StepSettings,
    TaskType,
    Tier,
    TierName,
    final_step,
    needs_of,
    placed_steps,
    source_of,
)

__all__ = [
    "ANY_AGENT",
    "MAX_ITEMS",
    "MAX_STEPS",
    "TIERS",
    "Agent",
    "Escalation",
    "Example",
    "Form",
    "InnerPlan",
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
    "asks_agents",
    "check_objective",
    "describe",
    "final_step",
    "is_orchestrated",
    "load_plan",
    "needs_of",
    "parse_plan",
    "source_of",
    "stored_plan",
    "with_any_agent",
]


ANY_AGENT = "any"
"""The agent of steps that the memory may give to the persona that does such work best."""
_ANY: dict[str, Any] = {
    "name": ANY_AGENT,
    "system_prompt": "You do one step of a larger job, completely and carefully.",
}


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
    if ANY_AGENT in created or ANY_AGENT not in _agents_of(cast("list[object]", steps)):
        return fields
    return {**fields, "agents": [*cast("list[object]", agents), _ANY]}


def _agents_of(steps: Iterable[object], depth: int = 0) -> Iterator[object]:
    """Yield the names of agents that steps name, those of plans inside them, too."""
    for step in steps:
        yield _field(step, "agent")
        inner = _field(_field(step, "plan"), "steps")
        if isinstance(inner, list | tuple) and depth <= MAX_DEPTH:
            yield from _agents_of(cast("list[object]", inner), depth + 1)


def _field(part: object, name: str) -> object:
    if isinstance(part, dict):
        return cast("dict[str, object]", part).get(name)
    return getattr(part, name, None)


_DEEPEST = 100
"""Levels of lists and objects; a JSON Schema within a plan has no more than 64."""


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
        default=(), description="Who does the steps; names are distinct."
    )
    steps: Annotated[tuple[Step, ...], BeforeValidator(as_tuple)] = Field(
        min_length=1, description="What is done, each step after those that it needs."
    )
    final_step: StepId | None = Field(
        default=None, description="The step whose output is the answer as it stands."
    )
    definition_of_done: Texts = Field(default=(), description="What the answer has to fulfil.")
    escalation: Escalation = Field(
        default=Escalation(), description="How far a failing step may go."
    )
    procedure: str = Field(
        default="",
        description="The procedure that it was made of, with its version: weekly-report@3.",
    )

    _add_any_agent = model_validator(mode="before")(with_any_agent)

    @field_validator("agents")
    @classmethod
    def _agents_are_distinct(cls, agents: tuple[Agent, ...]) -> tuple[Agent, ...]:
        if twice := first_repeated(agent.name for agent in agents):
            raise ValueError(f"agent {twice!r} is created twice")
        return agents

    @model_validator(mode="after")
    def _steps_fit_together(self, info: ValidationInfo) -> Self:
        rules = info.context if isinstance(info.context, PlanRules) else PlanRules()
        check_steps(self.agents, self.steps, self.final_step, rules, self.inputs)
        return self

    @classmethod
    def from_items(
        cls,
        prompt_template: str,
        items: Sequence[str] | str,
        *,
        objective: str | None = None,
        join: str | None = None,
        collect: Collect | None = None,
        agent: Agent | None = None,
        output: Output | None = None,
        gates: Sequence[str] | None = None,
        inputs: Sequence[str] | None = None,
        optional: bool = False,
        tools: Sequence[str] = (),
    ) -> TaskIR:
        """Map one template over many items: one step that is done for each of them.

        Args:
            prompt_template: A prompt; over a list it holds `{item}` at least once.
            items: 2 to 10,000 items that give no prompt twice, which are trusted and stand in the
                prompts as they are. Or a text: a pattern over the names of the run's inputs, such
                as `*.pdf`, for one step a file, which reads that file; or the name of an input,
                for one step a row.
            objective: What it is all for; made from the template when left out.
            join: The prompt of a last step that reads what all instances made.
            collect: How the outputs are joined without a model; not beside `join`.
            agent: Who does the items; a plain worker when left out.
            output: What each instance has to produce; a text when left out.
            gates: The gates that each output has to pass, as a step has them.
            inputs: Names of the inputs that each instance reads, beside its item. Left out, those
                of a list read all inputs, and others none.
            optional: Whether items may fail: it goes on with those that succeeded.
            tools: Toolsets that the agent works with, beside its own.

        Raises:
            PlanError: The template has no `{item}`, the items are too few, too many or repeated,
                a prompt is blank, or the parts don't fit together.
        """
        for_each: dict[str, Any] = {"items": items}
        if not isinstance(items, str):
            _check_listed(prompt_template, items)
            for_each = {"items": [*items], "max_items": len(items)}
        elif not has_wildcard(items):
            for_each["max_items"] = MAX_ITEMS
        if join is not None and collect is not None:
            raise PlanError("Both join and collect were given.", "Give one of them.")
        agent = agent or Agent(
            name="Item Worker", system_prompt="You do one item of a larger job, completely."
        )
        if more := [name for name in tools if name not in agent.tools]:
            agent = agent.model_copy(update={"tools": (*agent.tools, *more)})
        agents = [agent]
        if optional:
            # One that succeeds is enough: whoever wants more says so in a plan.
            for_each["at_least"] = 1
        step: dict[str, Any] = {
            "id": "S1",
            "agent": agent.name,
            "prompt": prompt_template,
            "for_each": for_each,
            "output": output or Output(),
            "gates": gates if gates is None else [*gates],
            "inputs": inputs if inputs is None else [*inputs],
        }
        steps = [step]
        last: dict[str, Any] = {"id": "S2", "depends_on": ["S1"]}
        if join is not None:
            joiner = Agent(
                name=f"{agent.name[:70]} Lead",
                system_prompt="You join the items' results into one.",
            )
            agents.append(joiner)
            steps.append({**last, "agent": joiner.name, "prompt": join})
        elif collect is not None:
            steps.append({**last, "collect": collect})
        of = f"each of {items}" if isinstance(items, str) else f"{len(items)} items"
        return parse_plan(
            {
                "objective": objective or f"{prompt_template} ({of})",
                "agents": agents,
                "steps": steps,
                "final_step": steps[-1]["id"] if len(steps) > 1 else None,
            }
        )


def _check_listed(template: str, items: Sequence[str]) -> None:
    """Refuse a list that a template can't be mapped over.

    Raises:
        PlanError: It says why.
    """
    if "{item}" not in template:
        raise PlanError(
            f"The prompt template {template!r} has no {{item}}.",
            "Write {item} where each item belongs.",
        )
    if not 2 <= len(items) <= MAX_ITEMS:
        raise PlanError(f"{len(items)} items were given.", f"Give 2 to {MAX_ITEMS:,} items.")
    prompts = [template.replace("{item}", item).strip() for item in items]
    if twice := first_repeated(prompts):
        raise PlanError(
            f"Two items give the same prompt {twice!r}.", "Leave out the repeated item."
        )
    if "" in prompts:
        raise PlanError(
            f"Item {prompts.index('') + 1} gives a blank prompt.", "Leave out the blank item."
        )


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
                "`prefect-swarm docs plan_language` has its fields.",
                text,
            ) from None
    if is_nested_over(_DEEPEST, data):
        raise PlanError(
            f"The plan{where} is nested too deeply, over {_DEEPEST} levels, or contains itself.",
            "`prefect-swarm docs plan_language` has its fields.",
            text,
        )
    try:
        return TaskIR.model_validate(without_surrogates(data), context=rules or PlanRules())
    except ValidationError as error:
        problems = "; ".join(describe(error, data))
        raise PlanError(
            f"The plan{where} breaks a rule: {problems}.",
            "Fix it; `prefect-swarm docs plan_language` has the language.",
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


def asks_agents(plan: TaskIR | None) -> bool:
    """Say whether an agent has something to do; in a plan of calls alone none has."""
    return plan is None or any(placed_steps(plan.agents, plan.steps))


def is_orchestrated(plan: TaskIR | None) -> bool:
    """Say whether the orchestrator has a plan to write, or an answer from several ends."""
    return plan is None or (plan.final_step or final_step(plan.steps)) is None
