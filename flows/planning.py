"""Where a run's plan comes from: the user, the orchestrator, or the coder in its place."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any

from prefect.client.schemas.objects import State

from ..errors import ModelError, NoPlanError
from ..events.kinds import PlanningEvent, Tell
from ..gates import gates
from ..model_names import model_names, without_place
from ..result import Planning
from ..task_ir import PlanRules, TaskIR, TierName, parse_plan
from ..tasks.planner.context.facts import PlanningFacts
from ..tasks.planner.given_inputs import notes_of
from ..tasks.planner.task import Planned, PlanRequest, decompose
from .explore import Explored
from .options import SwarmOptions
from .plan_stream import PlanReader, ReadPlan
from .run_inputs import with_inputs
from .task_run import run_task

__all__ = ["plan_for", "plan_rules"]

_PLANNERS: tuple[TierName, ...] = ("orchestrator", "coder")
"""Who plans; what the first can't, the next may if it is another model."""


async def plan_for(
    objective: str,
    plan: TaskIR | None,
    options: SwarmOptions,
    flow_run_id: str,
    inputs: Mapping[str, str],
    tell: Tell,
    facts: PlanningFacts | None = None,
    toolsets: frozenset[str] = frozenset(),
    read_plan: ReadPlan = lambda _: nullcontext(),
    explored: Explored | None = None,
) -> tuple[Planned, State[Any] | None]:
    """Return the plan with what the run is given, and the Prefect state of what wrote it.

    The agents of a user's plan may have any of the `toolsets`, those of a model's plan what the
    facts offer. A model's plan is read by `read_plan` while it is written.

    Raises:
        ModelError: The planner can't be reached, or refuses.
        NoPlanError: No plan that was written can be read; it is the orchestrator's.
        PlanError: The user's plan breaks a rule.
    """
    if plan is not None:
        own = plan_rules(options, toolsets)
        checked = parse_plan(with_inputs(plan, inputs).model_dump(mode="json"), own)
        return Planned(plan=checked, planning=Planning(source="user")), None
    failures: list[NoPlanError] = []
    offered = frozenset(fact.name for fact in facts.toolsets) if facts else frozenset[str]()
    rules = PlanRules(options.max_steps, frozenset(gates()), frozenset(inputs), offered)
    state: State[Any] | None = explored.state if explored else None
    for tier in _distinct(options):
        request = PlanRequest(
            run=flow_run_id,
            objective=objective,
            model=options.model_of(tier),
            tier=tier,
            max_steps=options.max_steps,
            seed=options.seed,
            adapter=options.adapter,
            inputs=notes_of(inputs),
            facts=facts,
            notes=explored.exploration.notes if explored else "",
        )
        tell(PlanningEvent(model=request.model, tier=tier))
        with read_plan(rules) as reader:
            state, content = await run_task(
                decompose, request, name=f"Plan · {tier}", wait_for=[state]
            )
        if reader and reader.has_heard and isinstance(content, ModelError):
            state, content = await _planned_on(request, reader, state)
        if isinstance(content, NoPlanError):
            failures.append(content)
        elif isinstance(content, Exception):
            raise content
        else:
            planned = _with_exploration(Planned.model_validate(content), explored)
            update = {"plan": with_inputs(planned.plan, inputs)}
            return planned.model_copy(update=update), state
    raise failures[0]


async def _planned_on(
    request: PlanRequest, reader: PlanReader, state: State[Any]
) -> tuple[State[Any], Any]:
    """Ask again, without a stream, for a plan whose stream broke for good.

    If that fails as well, the plan is what was complete of it; an error if nothing was.
    """
    again = request.model_copy(update={"begun": reader.text})
    state, content = await run_task(
        decompose, again, name=f"Plan · {request.tier} · once more", wait_for=[state]
    )
    if not isinstance(content, ModelError | NoPlanError) or reader.plan is None:
        return state, content
    planning = Planning(
        source="orchestrator",
        model=", ".join(map(without_place, model_names(request.model))),
        choice="as far as the model wrote it",
        broke_off=str(content),
    )
    return state, Planned(plan=reader.plan, planning=planning)


def _with_exploration(planned: Planned, explored: Explored | None) -> Planned:
    if explored is None:
        return planned
    found, planning = explored.exploration, planned.planning
    usage = found.usage + planning.usage
    update = {"planning": planning.model_copy(update={"explored": found, "usage": usage})}
    return planned.model_copy(update=update)


def plan_rules(options: SwarmOptions, toolsets: frozenset[str] | None = None) -> PlanRules:
    """Return what bounds a plan that a person wrote and that has all its inputs.

    Args:
        options: The run's options.
        toolsets: Those that the run has; None leaves their names unchecked.
    """
    return PlanRules(options.max_steps, frozenset(gates()), frozenset(), toolsets)


def _distinct(options: SwarmOptions) -> list[TierName]:
    first: dict[str, TierName] = {}
    for tier in _PLANNERS:
        first.setdefault(options.model_of(tier), tier)
    return [*first.values()]
