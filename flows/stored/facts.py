"""What a run's planner is shown: gathered once, and kept before the planner is asked."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from ...blocks.models import resolve_model
from ...errors import MemoryStoreError
from ...gates import gates
from ...memory.store import Store
from ...pricing import Price
from ...runs import RunFolder
from ...tasks.planner.context.facts import PlanningFacts
from ...tasks.planner.context.inventory import gate_facts, tier_facts
from ...tasks.planner.context.offered import asked_toolsets
from ...tasks.planner.context.remembered import persona_facts, similar_plans
from ...tasks.planner.planner import planner_for, reads_facts
from ...toolsets.catalogue import Catalogue
from ..options import SwarmOptions
from .planned import StoredFacts, load, save

__all__ = ["facts_for", "gather_facts"]

_logger = logging.getLogger("prefect_swarm.memory")


async def facts_for(
    run: RunFolder,
    flow_run_id: str,
    objective: str,
    options: SwarmOptions,
    price_of: Callable[[str], Price | None],
    store: Store | None,
    toolsets: Catalogue = Catalogue(),  # noqa: B008 - frozen
) -> PlanningFacts | None:
    """Return what the planner is shown, as an earlier process of the run gathered it, if it did.

    None where it is to be shown nothing: by the options, or because it was trained without.

    Raises:
        InputError: A persona of the user's is wrong.
        ToolsetError: A toolset that it is offered doesn't say which tools it has.
    """
    if kept := load(run, StoredFacts):
        return kept.facts
    facts = await gather_facts(objective, options, price_of, store, flow_run_id, toolsets)
    save(run, StoredFacts(facts=facts))
    return facts


async def gather_facts(
    objective: str,
    options: SwarmOptions,
    price_of: Callable[[str], Price | None],
    store: Store | None,
    flow_run_id: str = "",
    toolsets: Catalogue = Catalogue(),  # noqa: B008 - frozen
) -> PlanningFacts | None:
    """Gather it; a memory that can't be read costs a warning and what it knew, nothing else.

    Toolsets are offered whatever `plan_context` says: they are what agents may have.

    Raises:
        InputError: A persona of the user's is wrong.
        ToolsetError: A toolset that it is offered doesn't say which tools it has.
    """
    if not await _is_read(options):
        return None
    offered = await asked_toolsets(toolsets, RunFolder.of(flow_run_id or "plan"))
    if not options.plan_context:
        return PlanningFacts(toolsets=offered) if offered else None
    facts = PlanningFacts(
        tiers=tier_facts(options.model_of, price_of),
        gates=gate_facts(gates().values()),
        toolsets=offered,
    )
    if store is None:
        return facts
    try:
        return await asyncio.to_thread(_with_memory, facts, store, options, objective, flow_run_id)
    except MemoryStoreError as error:
        _logger.warning("The planner is shown nothing of the memory: %s", error)
        return facts


async def _is_read(options: SwarmOptions) -> bool:
    """Whether the orchestrator reads facts; who plans in its place gets the same request."""
    model = await resolve_model(options.model_of("orchestrator"), "orchestrator")
    return reads_facts(planner_for(model, adapter=options.adapter))


def _with_memory(
    facts: PlanningFacts, store: Store, options: SwarmOptions, objective: str, flow_run_id: str
) -> PlanningFacts:
    personas = persona_facts(store, options.namespace)
    plans = similar_plans(store, options.namespace, objective, flow_run_id)
    return facts.model_copy(update={"personas": personas, "plans": plans})
