"""The orchestrator looks around before it plans: bounded, journaled and stored."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from prefect.client.schemas.objects import State

from ..blocks.models import resolve_model
from ..errors import BudgetExceededError, Category, InputError
from ..events.kinds import ExploringEvent, Tell
from ..result import Exploration, excerpt
from ..runs import RunFolder
from ..tasks.planner.explore import exploration_request, explore, notes_in
from ..tasks.planner.given_inputs import notes_of
from ..tasks.planner.planner import planner_for, reads_facts
from ..tasks.subagent.request import SubagentRequest, SubagentResult
from ..tasks.subagent.tool_loop import AttemptBudget, allowed
from ..toolsets.catalogue import Catalogue
from .attempt_events import told_calls
from .bounds.ledger import Ledger
from .bounds.limits import Models, call_limits
from .options import SwarmOptions
from .stored.ledger import unbooked_ledger
from .stored.planned import StoredExploration, load, save, task_run_of
from .task_run import result_in, run_task

__all__ = ["Explored", "explored_before"]


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
    tell: Tell,
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
    tell(ExploringEvent(model=model, calls=request.max_calls or 0))
    ledger = unbooked_ledger(run, options, models.prices, started_at)
    state, result = await _look(request, ledger, tell)
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
            "Leave explore away, or use --no-adapter or another orchestrator.",
        )
    if not toolsets.offered:
        raise InputError(
            "There are no tools to explore with.",
            "Give some: --mcp FILE, --documents FOLDER, or override_toolsets in Python.",
        )


async def _look(
    request: SubagentRequest, ledger: Ledger, tell: Tell
) -> tuple[State[Any] | None, SubagentResult]:
    failed = partial(SubagentResult, model=request.model, started_at=0.0, ended_at=0.0)
    try:
        request = await ledger.reserve(request)
    except BudgetExceededError as error:
        return None, failed(category=Category.BUDGET, error=str(error))
    budget = AttemptBudget(partial(ledger.extend, request.key))
    with allowed(budget), told_calls(tell, request):
        state, content = await run_task(explore, request, name="Orchestrator · explore")
    if (found := result_in(content)) is not None:
        return state, found
    if isinstance(content, asyncio.CancelledError):
        raise content
    return state, failed(category=Category.INFRASTRUCTURE, error=excerpt(str(content)))
