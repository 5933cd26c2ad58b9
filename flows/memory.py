"""A run's use of the memory: facts for planners, and episodes of attempts."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from prefect.client.schemas.objects import State

from ..errors import InputError, MemoryStoreError, StorageError
from ..gates import gates
from ..inputs.pictures import has_pictures
from ..memory.episode import EpisodeKey
from ..memory.graph_rows import symptom_text
from ..memory.learning.after_run import InventedAgent, after_run
from ..memory.store import Store, configured_place, open_store
from ..models.names import Price
from ..models.resolve import resolve_model
from ..plan.compile import CompiledStep
from ..plan.task_ir import Agent, TaskIR, Tier
from ..store.attempt import Attempt, ShownAttempt
from ..store.procedures import list_procedures
from ..store.result import Mitigation, Recall
from ..store.runs import open_run
from ..store.step import StepState
from ..tasks.memory import (
    AttemptContext,
    RecallRequest,
    episode_of,
    recall,
    recall_request,
    task_type_of,
)
from ..tasks.planner.facts import (
    PlanningFacts,
    ProcedureFact,
    TierFact,
    asked_toolsets,
    gate_facts,
    procedure_facts,
    tier_facts,
)
from ..tasks.planner.facts_text import persona_facts, similar_plans
from ..tasks.planner.task import planner_for
from ..toolsets.catalogue import Catalogue
from .context import RunContext
from .options import SwarmOptions
from .prefect_io.task_runs import run_task
from .stored_plan import StoredFacts, load, save

__all__ = [
    "Memories",
    "facts_for",
    "gather_facts",
    "reads_facts",
    "recall_for",
    "recall_request_of",
    "store_of",
]


_logger = logging.getLogger("prefect_swarm.memory")


async def store_of(options: SwarmOptions) -> Store | None:
    """Return the memory that a run uses; None if it is to have none, or it can't be opened.

    A memory that is out of order costs a run what it knew before, and nothing else.
    """
    if not options.memory:
        return None
    try:
        return await asyncio.to_thread(open_store, configured_place(options.embedder))
    except MemoryStoreError as error:
        _logger.warning("Nothing is recalled or remembered: %s", error)
        return None


def recall_request_of(
    context: RunContext, plan: TaskIR, store: Store, written: Collection[str] = ()
) -> RecallRequest:
    """Return what a plan's steps ask of the memory; of `written` a person wrote who does them."""
    options = context.options

    def ladder(tier: Tier) -> tuple[Tier, ...]:
        return options.ladder(plan.escalation.max_tier, plan.task_type, tier)

    return recall_request(
        plan,
        ladder,
        run=context.flow_run_id,
        # The recall task finds the store, which `store_of` has opened in this process, by its key.
        place=store.place.key,
        namespace=options.namespace,
        seed=options.seed or 0,
        written=written,
    )


async def recall_for(
    context: RunContext, plan: TaskIR, written: Collection[str] = ()
) -> tuple[Recall | None, State[Any] | None]:
    """Return what the memory makes of a plan, and the state that the steps wait for then.

    It is None if there is no memory; one that can't be read says so in the recall. Who does the
    steps of `written` a person wrote.

    Raises:
        InputError: A persona of the user's is wrong.
    """
    if context.memory is None:
        return None, context.plan_state
    request = recall_request_of(context, plan, context.memory, written)
    state, content = await run_task(recall, request, name="Recall", wait_for=[context.plan_state])
    if isinstance(content, dict):
        return Recall.model_validate(content), state
    if isinstance(content, InputError):
        raise content
    _logger.warning("Nothing is recalled: %s", content)
    return Recall(note=str(content)), state


@dataclass(slots=True)
class Memories:
    """Remembers the attempts of one run.

    Attributes:
        agents: Those of the plan, as the planner made them up.
        mitigations: What was done about failures in earlier runs, as it was recalled.
    """

    context: RunContext
    agents: Sequence[Agent] = ()
    mitigations: tuple[Mitigation, ...] = ()

    def symptom(self, record: StepState, attempt: Attempt) -> str:
        """Return what a failed attempt looks like to the memory; "" without one."""
        if not self.mitigations:
            return ""
        return symptom_text(episode_of(self._attempt_context(record), attempt, record.attempts, ""))

    async def remember(
        self, record: StepState, attempt: Attempt, before: Sequence[Attempt], artifact: str
    ) -> None:
        """Write an attempt that has ended into the log; a call shows nothing of an agent."""
        if self.context.memory is None or record.step.call is not None:
            return
        decision = before[-1].decision if before else None
        examples = (decision.example,) if decision and decision.example else ()
        episode = episode_of(self._attempt_context(record, examples), attempt, before, artifact)
        try:
            # An attempt that has ended is written even if its run is being cancelled.
            await asyncio.shield(asyncio.to_thread(self.context.memory.remember, episode))
        except MemoryStoreError as error:
            _logger.warning("%s was not remembered: %s", episode.key, error)

    async def conclude(self, records: Sequence[StepState]) -> tuple[str, ...]:
        """Learn from the run, which is over, and return what it has taught."""
        if self.context.memory is None:
            return ()
        prompts = {agent.name: agent.system_prompt for agent in self.agents}
        invented = [
            InventedAgent(step.agent, prompts[step.agent], self._task_type(step), step.persona)
            for step in (record.step for record in records if self._was_done(record))
            if step.agent in prompts
        ]
        try:
            return await asyncio.to_thread(
                after_run,
                self.context.memory,
                self.context.options.namespace,
                self.context.flow_run_id,
                invented,
            )
        except MemoryStoreError as error:
            _logger.warning("Nothing is learned from the run: %s", error)
            return ()

    def _was_done(self, record: StepState) -> bool:
        """Whether a step succeeded in this run; of what another one did, that one has learned."""
        is_here = record.taken_from is None and not self.context.followed.has(record.id)
        return record.output is not None and is_here

    def _task_type(self, step: CompiledStep) -> str:
        return task_type_of(self.context.plan.task_type, step.output.kind)

    def _attempt_context(
        self, record: StepState, examples: Sequence[ShownAttempt] = ()
    ) -> AttemptContext:
        step = record.step
        used = (EpisodeKey(*key) for key in step.used)
        shown_keys = (EpisodeKey(shown.run, shown.step, shown.attempt) for shown in examples)
        return AttemptContext(
            namespace=self.context.options.namespace,
            run=self.context.flow_run_id,
            step=step.id,
            objective=self.context.plan.objective,
            task_type=self.context.plan.task_type,
            output=step.output.kind,
            prompt=step.prompt,
            persona=step.persona or step.agent,
            upstream=step.upstream,
            downstream=tuple(
                other.id for other in self.context.plan.steps if step.id in other.upstream
            ),
            used=tuple(dict.fromkeys((*used, *shown_keys))),
            again=self.context.restart_counts.get(step.id, 0),
        )


async def facts_for(context: RunContext) -> PlanningFacts | None:
    """Return what the planner is shown, as an earlier process of the run gathered it, if it did.

    None where it is to be shown nothing: by the options, or because it was trained without.

    Raises:
        InputError: A persona of the user's is wrong.
        ToolsetError: A toolset that it is offered doesn't say which tools it has.
    """
    if stored := load(context.run, StoredFacts):
        return stored.facts
    facts = await gather_facts(
        context.objective,
        context.options,
        context.models.prices.get,
        context.memory,
        context.flow_run_id,
        context.toolsets,
        context.workspace.overview if context.workspace is not None else None,
    )
    if facts is not None and any(map(has_pictures, context.inputs.values())):
        facts = facts.model_copy(update={"tiers": tuple(_with_sight(context, facts))})
    save(context.run, StoredFacts(facts=facts))
    return facts


def _with_sight(context: RunContext, facts: PlanningFacts) -> Iterator[TierFact]:
    """Yield what is known of the tiers, with those that can't be shown pictures marked."""
    for fact in facts.tiers:
        profile = context.models.profile(context.options.model_of(fact.tiers[0]))
        yield fact.model_copy(update={"is_blind": not profile.takes_pictures})


async def gather_facts(
    objective: str,
    options: SwarmOptions,
    price_of: Callable[[str], Price | None],
    store: Store | None,
    flow_run_id: str = "",
    toolsets: Catalogue = Catalogue(),  # noqa: B008 - frozen
    told_of_files: Callable[[], Awaitable[str]] | None = None,
) -> PlanningFacts | None:
    """Gather it; a memory that can't be read costs a warning and what it knew, nothing else.

    Toolsets are offered whatever `plan_context` says: they are what agents may have.

    Args:
        told_of_files: Returns what a planner is told of the workspace; asked where it is shown.

    Raises:
        InputError: A persona of the user's is wrong.
        ToolsetError: A toolset that it is offered doesn't say which tools it has.
    """
    if not await reads_facts(options):
        return None
    offered = await asked_toolsets(toolsets, open_run(flow_run_id or "plan"))
    if not options.plan_context:
        return PlanningFacts(toolsets=offered) if offered else None
    facts = PlanningFacts(
        tiers=tier_facts(options.model_of, price_of),
        gates=gate_facts(gates().values(), patches=options.workspace is not None),
        toolsets=offered,
        procedures=await asyncio.to_thread(_procedures, frozenset(each.name for each in offered)),
        workspace=await told_of_files() if told_of_files else "",
    )
    if store is None:
        return facts
    try:
        return await asyncio.to_thread(_with_memory, facts, store, options, objective, flow_run_id)
    except MemoryStoreError as error:
        _logger.warning("The planner is shown nothing of the memory: %s", error)
        return facts


def _procedures(toolsets: Collection[str]) -> tuple[ProcedureFact, ...]:
    """Return what is shown of the procedures that there are; none where one can't be read."""
    try:
        return procedure_facts((each.procedure for each in list_procedures()), toolsets)
    except (InputError, StorageError) as error:
        _logger.warning("The planner is shown no procedures: %s", error)
        return ()


async def reads_facts(options: SwarmOptions) -> bool:
    """Whether the orchestrator reads facts; who plans in its place gets the same request."""
    model = await resolve_model(options.model_of("orchestrator"), "orchestrator")
    return planner_for(model, adapter=options.adapter).reads_facts


def _with_memory(
    facts: PlanningFacts, store: Store, options: SwarmOptions, objective: str, flow_run_id: str
) -> PlanningFacts:
    patches = options.workspace is not None
    personas = persona_facts(store, options.namespace, patches=patches)
    plans = similar_plans(store, options.namespace, objective, flow_run_id)
    return facts.model_copy(update={"personas": personas, "plans": plans})
