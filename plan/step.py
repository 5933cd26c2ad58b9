"""Agents and steps: the parts of a plan that the plan language is made of."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Literal, NamedTuple, Self

from pydantic import BeforeValidator, Field, StringConstraints, model_validator

from ..untrusted.json_text import STEP_ID
from .call import PlannedCall
from .conditions import Condition, steps_of
from .output import Output, PlanPart, Text, Texts, as_tuple
from .program import (
    PROCEDURE_NAME,
    BestOf,
    Collect,
    ForEach,
    ParameterValue,
    Repeat,
    Review,
)

__all__ = [
    "TIERS",
    "Agent",
    "InnerPlan",
    "PlacedStep",
    "Step",
    "StepId",
    "StepSettings",
    "TaskType",
    "Tier",
    "TierName",
    "asked_by",
    "final_step",
    "needed_for",
    "needs_of",
    "placed_steps",
    "procedure_words",
    "source_of",
]

Tier = Literal["worker", "coder", "architect"]
TIERS: tuple[Tier, ...] = ("worker", "coder", "architect")
"""The tiers, cheapest first."""
TierName = Literal["worker", "coder", "architect", "orchestrator"]
"""Whatever has a model of its own: a subagents' tier, or the orchestrator."""
TaskType = Literal["chat", "doc", "code", "ingest", "manage"]

_Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=80)]
_AgentOfStep = Annotated[str, StringConstraints(strip_whitespace=True, max_length=80)]
PoolName = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
StepId = Annotated[str, StringConstraints(pattern=rf"^{STEP_ID.pattern}$")]
_ProcedureOfStep = Annotated[
    str, StringConstraints(pattern=rf"^(?:{PROCEDURE_NAME}(?:@[1-9][0-9]{{0,5}})?)?$")
]


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


class Agent(PlanPart):
    """A subagent that the orchestrator invents: `create_subagent(name, system_prompt)`."""

    name: _Name = Field(description="What steps call it by, once a plan.")
    system_prompt: Text = Field(description="What it is told about itself with each step.")
    tier: Tier = Field(default="worker", description="The tier whose model it begins on.")
    tools: Texts = Field(default=(), description="Names of the toolsets that it works with.")


class Step(PlanPart):
    """A piece of work for one agent: `assign_task(agent, prompt)` and what it needs."""

    id: StepId = Field(description="`S` and a number.")
    agent: _AgentOfStep = Field(
        default="", description="The name of the agent that does it; `any` needs no creating."
    )
    prompt: Annotated[str, StringConstraints(strip_whitespace=True)] = Field(
        default="", description="What is to be done, complete in itself."
    )
    depends_on: Annotated[tuple[StepId, ...], BeforeValidator(as_tuple)] = Field(
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
    procedure: _ProcedureOfStep = Field(
        default="",
        description="The procedure that does it, NAME or NAME@VERSION: its steps become the plan "
        "inside; beside `plan` it says where that comes from.",
    )
    parameters: dict[str, ParameterValue] = Field(
        default_factory=dict[str, ParameterValue],
        description="The values of the procedure's parameters, by name.",
    )
    review: Review | None = Field(default=None, description="Who reviews what it made.")
    best_of: BestOf | None = Field(
        default=None, description="How many samples are drawn, and who chooses."
    )
    call: PlannedCall | None = Field(
        default=None,
        description="A call of a tool that is made in place of its agent, without a model.",
    )
    undo: PlannedCall | None = Field(
        default=None,
        description="The call that undoes what it did, made where the run fails for good.",
    )
    pool: PoolName | None = Field(
        default=None,
        description="The work pool on which its members are done, as a flow run of their own; "
        "null does them here.",
    )

    @model_validator(mode="after")
    def _somebody_does_it(self) -> Self:
        is_done_otherwise = self.procedure or self.collect is not None or self.call is not None
        if self.plan is None and not is_done_otherwise:
            for name in ("agent", "prompt"):
                if not getattr(self, name):
                    raise ValueError(f"it has no {name}")
        return self


class InnerPlan(PlanPart):
    """A plan inside a step."""

    agents: Annotated[tuple[Agent, ...], BeforeValidator(as_tuple)] = Field(
        default=(), description="Agents beside those of the plan around it."
    )
    steps: Annotated[tuple[Step, ...], BeforeValidator(as_tuple)] = Field(
        min_length=1, description="What is done, each step after those that it needs."
    )
    final_step: StepId | None = Field(
        default=None, description="The step whose output is the outer step's output."
    )


class PlacedStep(NamedTuple):
    """A step that an agent does, at any depth of a plan; `id` says where: `S2.S1`."""

    id: str
    step: Step
    agent: Agent


def placed_steps(
    agents: Iterable[Agent], steps: Iterable[Step], prefix: str = ""
) -> Iterator[PlacedStep]:
    """Yield the steps that agents do, those of plans inside steps, too, in the plan's order."""
    known = {agent.name: agent for agent in agents}
    for step in steps:
        if step.plan is not None:
            inner = (*known.values(), *step.plan.agents)
            yield from placed_steps(inner, step.plan.steps, f"{prefix}{step.id}.")
        elif step.agent:
            yield PlacedStep(prefix + step.id, step, known[step.agent])


def asked_by(step: Step) -> tuple[str, ...]:
    """Return what no other step may have as well: who does it, what is asked, and for which items.

    The same prompt for other items is another one.
    """
    items = step.for_each.model_dump_json() if step.for_each else ""
    return step.agent, step.prompt, items


def procedure_words(step: Step) -> str:
    """Return the procedure that a step is, with its values: `weekly-report@3 (week 48)`.

    It is "" for any other step.
    """
    values = [
        f"{name} {value if isinstance(value, str) else json.dumps(value)}"
        for name, value in step.parameters.items()
    ]
    return (
        f"{step.procedure} ({', '.join(values)})" if step.procedure and values else step.procedure
    )


def source_of(step: Step) -> str | None:
    """Return the id of the step whose output has the items; None if they come from elsewhere."""
    items = step.for_each.items if step.for_each else None
    return items if isinstance(items, str) and STEP_ID.fullmatch(items) else None


def needs_of(step: Step) -> tuple[str, ...]:
    """Return all steps that a step waits for, each once: those it reads come first."""
    source = source_of(step)
    in_condition = steps_of(step.when) if step.when else ()
    named = [*step.depends_on, *([source] if source else []), *in_condition]
    return tuple(dict.fromkeys(named))


def needed_for(steps: Sequence[Step], name: str) -> frozenset[str]:
    """Return a step and all that it needs, directly or not."""
    needs = {step.id: needs_of(step) for step in steps}
    found, waiting = set[str](), [name]
    while waiting:
        if (step := waiting.pop()) not in found:
            found.add(step)
            waiting += needs.get(step, ())
    return frozenset(found)


def final_step(steps: Sequence[Step]) -> str | None:
    """Return the step that joins the plan: the only one nothing needs, and it needs all others."""
    needed = {need for step in steps for need in needs_of(step)}
    # A step that nothing needs is the last of some chain; if it is the only one, all lead to it.
    ends = [step.id for step in steps if step.id not in needed]
    return ends[0] if len(ends) == 1 else None
