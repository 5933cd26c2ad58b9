"""A run's way to the memory: each attempt is remembered when it ends, whatever comes after."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from prefect.client.schemas.objects import State

from ..errors import InputError, MemoryStoreError
from ..memory.advice.after_run import InventedAgent, after_run
from ..memory.configured import configured_place
from ..memory.episode import EpisodeKey
from ..memory.graph.rows import symptom_text
from ..memory.store import Store, open_store
from ..result import Attempt, Mitigation, Recall, ShownAttempt
from ..task_ir import Agent, TaskIR, Tier
from ..tasks.recall import RecallRequest, recall, recall_request
from ..tasks.remember import AttemptContext, episode_of, task_type_of
from .compile import CompiledStep
from .context import RunContext
from .options import SwarmOptions
from .records import StepRecord
from .task_run import run_task

__all__ = ["Memories", "recall_for", "recall_request_of", "store_of"]

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
    plan: TaskIR,
    options: SwarmOptions,
    store: Store,
    flow_run_id: str,
    written: Collection[str] = (),
) -> RecallRequest:
    """Return what a plan's steps ask of the memory; of `written` a person wrote who does them."""

    def ladder(tier: Tier) -> tuple[Tier, ...]:
        return options.ladder(plan.escalation.max_tier, plan.task_type, tier)

    return recall_request(
        plan,
        ladder,
        run=flow_run_id,
        # The recall task finds the store, which `store_of` has opened in this process, by its key.
        place=store.place.key,
        namespace=options.namespace,
        seed=options.seed or 0,
        written=written,
    )


async def recall_for(
    plan: TaskIR,
    options: SwarmOptions,
    store: Store | None,
    flow_run_id: str,
    plan_state: State[Any] | None,
    written: Collection[str] = (),
) -> tuple[Recall | None, State[Any] | None]:
    """Return what the memory makes of a plan, and the state that the steps wait for then.

    It is None if there is no memory; one that can't be read says so in the recall. Who does the
    steps of `written` a person wrote.

    Raises:
        InputError: A persona of the user's is wrong.
    """
    if store is None:
        return None, plan_state

    request = recall_request_of(plan, options, store, flow_run_id, written)
    state, content = await run_task(recall, request, name="Recall", wait_for=[plan_state])
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
    store: Store | None
    agents: Sequence[Agent] = ()
    mitigations: tuple[Mitigation, ...] = ()

    def symptom(self, record: StepRecord, attempt: Attempt) -> str:
        """Return what a failed attempt looks like to the memory; "" without one."""
        if not self.mitigations:
            return ""
        return symptom_text(episode_of(self._attempt_context(record), attempt, record.attempts, ""))

    async def remember(
        self, record: StepRecord, attempt: Attempt, before: Sequence[Attempt], artifact: str
    ) -> None:
        """Write an attempt that has ended into the log."""
        if self.store is None:
            return
        decision = before[-1].decision if before else None
        examples = (decision.example,) if decision and decision.example else ()
        episode = episode_of(self._attempt_context(record, examples), attempt, before, artifact)
        try:
            # An attempt that has ended is written even if its run is being cancelled.
            await asyncio.shield(asyncio.to_thread(self.store.remember, episode))
        except MemoryStoreError as error:
            _logger.warning("%s was not remembered: %s", episode.key, error)

    async def conclude(self, records: Sequence[StepRecord]) -> tuple[str, ...]:
        """Learn from the run, which is over, and return what it has taught."""
        if self.store is None:
            return ()
        prompts = {agent.name: agent.system_prompt for agent in self.agents}
        invented = [
            InventedAgent(step.agent, prompts[step.agent], self._task_type(step), step.persona)
            for step in (record.step for record in records if _was_done(record))
            if step.agent in prompts
        ]
        try:
            return await asyncio.to_thread(
                after_run,
                self.store,
                self.context.options.namespace,
                self.context.flow_run_id,
                invented,
            )
        except MemoryStoreError as error:
            _logger.warning("Nothing is learned from the run: %s", error)
            return ()

    def _task_type(self, step: CompiledStep) -> str:
        return task_type_of(self.context.plan.task_type, step.output.kind)

    def _attempt_context(
        self, record: StepRecord, examples: Sequence[ShownAttempt] = ()
    ) -> AttemptContext:
        step = record.step
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
            used=tuple(dict.fromkeys((*step.used, *shown_keys))),
            again=self.context.begun_again.get(step.id, 0),
        )


def _was_done(record: StepRecord) -> bool:
    """Whether a step succeeded in this run; of what was taken over, the other run has learned."""
    return record.output is not None and record.taken_from is None
