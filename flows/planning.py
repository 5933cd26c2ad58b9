"""The source of a run's plan, and exploration before it is made."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from functools import partial
from typing import Any

from prefect.client.schemas.objects import State

from ..errors import BudgetExceededError, Category, InputError, ModelError, NoPlanError
from ..gates import gates
from ..models.names import model_names, without_place
from ..models.resolve import resolve_model
from ..plan.task_ir import PlanRules, TaskIR, TierName, parse_plan
from ..store.attempt import excerpt
from ..store.events import EventSink, ExploringEvent, PlanningEvent
from ..store.result import Exploration, Planning
from ..tasks.context import AttemptBudget, task_context
from ..tasks.planner.conversation import exploration_request, explore, notes_in
from ..tasks.planner.facts import PlanningFacts, notes_of
from ..tasks.planner.task import Planned, PlanRequest, decompose, planner_for, rules_of
from ..tasks.subagent.request import SubagentRequest, SubagentResult
from ..toolsets.catalogue import Catalogue
from .bounds import Ledger
from .context import RunContext
from .event_log import call_sink
from .options import SwarmOptions
from .plan_stream import PlanReader, plan_reading
from .prefect_io.task_runs import result_in, run_task, task_run_of
from .run_inputs import with_inputs
from .stored_plan import StoredExploration, load, save, unbooked_ledger

__all__ = ["Explored", "explored_before", "plan_for", "plan_rules"]


_logger = logging.getLogger("prefect_swarm.tools")


@dataclass(frozen=True, slots=True)
class Explored:
    """What the orchestrator found, and the Prefect state of its looking."""

    exploration: Exploration
    state: State[Any] | None = None


async def explored_before(context: RunContext) -> Explored | None:
    """Have the orchestrator look around, or return what it found in an earlier process.

    None where nobody asks for it. A look that comes to nothing costs the plan its notes, and the
    run nothing.

    Raises:
        InputError: The orchestrator can't look around, or has nothing to look with.
    """
    options, toolsets = context.options, context.toolsets
    if not options.explore:
        return None
    if stored := load(context.run, StoredExploration):
        return Explored(stored.exploration, stored.state)
    await _check(options, toolsets)
    model = options.model_of("orchestrator")
    request = exploration_request(
        context.objective,
        notes_of(context.inputs),
        run=context.flow_run_id,
        model=model,
        tools=sorted(toolsets.offered),
        limits=context.limits,
        calls=min(options.explore, toolsets.limits.calls),
    )
    context.emit(ExploringEvent(model=model, calls=request.max_calls or 0))
    ledger = unbooked_ledger(context.run, options, context.models.prices, context.ledger.started_at)
    state, result = await _look(request, ledger, context.emit)
    exploration = Exploration(
        model=result.model,
        calls=result.calls,
        notes=notes_in(result),
        usage=result.usage,
        problem=result.error,
    )
    if result.category is not None:
        _logger.warning("The plan is made without a look around: %s", result.error)
    if result.category is not Category.UNAVAILABLE:
        save(context.run, StoredExploration(exploration=exploration, task_run=task_run_of(state)))
    return Explored(exploration, state)


async def _check(options: SwarmOptions, toolsets: Catalogue) -> None:
    model = await resolve_model(options.model_of("orchestrator"), "orchestrator")
    if not planner_for(model, adapter=options.adapter).reads_facts:
        raise InputError(
            f"{model.model_name} plans with an adapter, which reads the objective alone.",
            "Leave explore out, or use --no-adapter or another orchestrator.",
        )
    if not toolsets.offered:
        raise InputError(
            "There are no tools to explore with.",
            "Give some: --mcp FILE, --documents FOLDER, or override_toolsets in Python.",
        )


async def _look(
    request: SubagentRequest, ledger: Ledger, emit: EventSink
) -> tuple[State[Any] | None, SubagentResult]:
    failed = partial(SubagentResult, model=request.model, started_at=0.0, ended_at=0.0)
    try:
        request = await ledger.reserve(request)
    except BudgetExceededError as error:
        return None, failed(category=Category.BUDGET, error=str(error))
    budget = AttemptBudget(partial(ledger.extend, request.key))
    with task_context(budget=budget, on_tool_call=call_sink(emit, request)):
        state, content = await run_task(explore, request, name="Orchestrator, explore")
    if (found := result_in(content)) is not None:
        return state, found
    if isinstance(content, asyncio.CancelledError):
        raise content
    return state, failed(category=Category.INFRASTRUCTURE, error=excerpt(str(content)))


_PLANNERS: tuple[TierName, ...] = ("orchestrator", "coder")
"""Who plans; what the first can't, the next may if it is another model."""


async def plan_for(
    context: RunContext,
    plan: TaskIR | None,
    facts: PlanningFacts | None = None,
    explored: Explored | None = None,
) -> tuple[Planned, State[Any] | None]:
    """Return the plan with what the run is given, and the Prefect state of what wrote it.

    The agents of a user's plan may have any of the run's toolsets, those of a model's plan what the
    facts offer. A model's plan is read while it is written.

    Raises:
        ModelError: The planner can't be reached, or refuses.
        NoPlanError: No plan that was written can be read; it is the orchestrator's.
        PlanError: The user's plan breaks a rule.
    """
    options, inputs = context.options, context.inputs
    if plan is not None:
        own = plan_rules(options, context.toolsets.names)
        checked = parse_plan(with_inputs(plan, inputs).model_dump(mode="json"), own)
        return Planned(
            plan=checked, planning=Planning(source="user", procedure=checked.procedure)
        ), None
    failures: list[NoPlanError] = []
    rules = rules_of(options.max_steps, inputs, facts)
    state: State[Any] | None = explored.state if explored else None
    for tier in _distinct(options):
        request = PlanRequest(
            run=context.flow_run_id,
            objective=context.objective,
            model=options.model_of(tier),
            tier=tier,
            max_steps=options.max_steps,
            seed=options.seed,
            adapter=options.adapter,
            inputs=notes_of(inputs),
            facts=facts,
            notes=explored.exploration.notes if explored else "",
            turns=options.turns > 1,
        )
        context.emit(PlanningEvent(model=request.model, tier=tier))
        with plan_reading(context, rules) as reader:
            state, content = await run_task(
                decompose, request, name=f"Plan, {tier}", wait_for=[state]
            )
        if reader and reader.has_received and isinstance(content, ModelError):
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
        decompose, again, name=f"Plan, {request.tier}, once more", wait_for=[state]
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
