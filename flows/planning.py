"""The source of a run's plan, and exploration before it is made."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from contextlib import nullcontext
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
from ..store.folder import RunFolder
from ..store.result import Exploration, Planning
from ..tasks.planner.conversation import exploration_request, explore, notes_in
from ..tasks.planner.facts import PlanningFacts, notes_of
from ..tasks.planner.task import Planned, PlanRequest, decompose, planner_for, reads_facts
from ..tasks.subagent.request import SubagentRequest, SubagentResult
from ..tasks.subagent.tool_loop import AttemptBudget, allowed
from ..toolsets.catalogue import Catalogue
from .bounds import Ledger, Models, call_limits
from .event_log import call_events
from .options import SwarmOptions
from .plan_stream import PlanReader, ReadPlan
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


async def explored_before(
    run: RunFolder,
    flow_run_id: str,
    objective: str,
    options: SwarmOptions,
    inputs: Mapping[str, str],
    models: Models,
    toolsets: Catalogue,
    started_at: float,
    emit: EventSink,
) -> Explored | None:
    """Have the orchestrator look around, or return what it found in an earlier process.

    None where nobody asks for it. A look that comes to nothing costs the plan its notes, and the
    run nothing.

    Raises:
        InputError: The orchestrator can't look around, or has nothing to look with.
    """
    if not options.explore:
        return None
    if kept := load(run, StoredExploration):
        return Explored(kept.exploration, kept.state)
    await _check(options, toolsets)
    model = options.model_of("orchestrator")
    request = exploration_request(
        objective,
        notes_of(inputs),
        run=flow_run_id,
        model=model,
        tools=sorted(toolsets.offered),
        limits=call_limits(options, "orchestrator", models.profile(model)),
        calls=min(options.explore, toolsets.limits.calls),
    )
    emit(ExploringEvent(model=model, calls=request.max_calls or 0))
    ledger = unbooked_ledger(run, options, models.prices, started_at)
    state, result = await _look(request, ledger, emit)
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
        save(run, StoredExploration(exploration=exploration, task_run=task_run_of(state)))
    return Explored(exploration, state)


async def _check(options: SwarmOptions, toolsets: Catalogue) -> None:
    model = await resolve_model(options.model_of("orchestrator"), "orchestrator")
    if not reads_facts(planner_for(model, adapter=options.adapter)):
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
    with allowed(budget), call_events(emit, request):
        state, content = await run_task(explore, request, name="Orchestrator · explore")
    if (found := result_in(content)) is not None:
        return state, found
    if isinstance(content, asyncio.CancelledError):
        raise content
    return state, failed(category=Category.INFRASTRUCTURE, error=excerpt(str(content)))


_PLANNERS: tuple[TierName, ...] = ("orchestrator", "coder")
"""Who plans; what the first can't, the next may if it is another model."""


async def plan_for(
    objective: str,
    plan: TaskIR | None,
    options: SwarmOptions,
    flow_run_id: str,
    inputs: Mapping[str, str],
    emit: EventSink,
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
        emit(PlanningEvent(model=request.model, tier=tier))
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
