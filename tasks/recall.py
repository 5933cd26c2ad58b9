"""Ask the memory about the steps of a plan, as a Prefect task run."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Collection
from typing import Any

from prefect import task
from prefect.cache_policies import CacheKeyFnPolicy
from prefect.context import TaskRunContext

from ..frozen import Frozen
from ..memory.advice.advise import StepQuestion, advise, anticipate_agents
from ..memory.advice.precedents import precedents
from ..memory.learning.config import DEFAULTS
from ..memory.store import Store, find_open_store
from ..plan_rules import ANY_AGENT
from ..result import Recall, StepRecall
from ..task_ir import TaskIR, Tier
from .remember import task_type_of

__all__ = ["RecallRequest", "advise_on", "recall", "recall_request"]


class RecallRequest(Frozen):
    """All that recalling depends on, but for the memory itself, which `place` is the key of."""

    run: str
    place: str
    namespace: str
    seed: int
    questions: tuple[StepQuestion, ...]


def recall_request(
    plan: TaskIR,
    ladder: Callable[[Tier], tuple[Tier, ...]],
    *,
    run: str,
    place: str,
    namespace: str,
    seed: int,
    written: Collection[str] = (),
) -> RecallRequest:
    """Return what a plan's steps ask of the memory.

    Args:
        written: Ids of the steps whose agents a person wrote; the memory leaves them, unless they
            are named `any`.
        ladder: The tiers that a step of a given one may climb, that one first.
    """
    agents = {agent.name: agent for agent in plan.agents}
    tiers: set[Tier] = {agent.tier for agent in plan.agents}
    ladders = {tier: ladder(tier) for tier in tiers}
    questions = tuple(
        StepQuestion(
            step=step.id,
            prompt=step.prompt,
            task_type=task_type_of(plan.task_type, step.output.kind),
            agent=step.agent,
            system_prompt=agents[step.agent].system_prompt,
            ladder=ladders[agents[step.agent].tier],
            named=step.id in written and step.agent != ANY_AGENT,
        )
        for step in plan.steps
    )
    return RecallRequest(run=run, place=place, namespace=namespace, seed=seed, questions=questions)


def _key(_: TaskRunContext, parameters: dict[str, Any]) -> str:
    request = RecallRequest.model_validate(parameters["request"])
    digest = hashlib.sha256(request.model_dump_json(exclude={"place"}).encode()).hexdigest()
    return f"{request.run}.recall.{digest[:16]}"


@task(
    name="recall",
    task_run_name="{name}",
    cache_policy=CacheKeyFnPolicy(cache_key_fn=_key),
    persist_result=True,
    result_serializer="json",
)
async def recall(request: dict[str, Any], name: str) -> dict[str, Any]:  # noqa: ARG001 - its name
    """Advise on a request; what was advised is kept, so that a resumed run goes by the same.

    Raises:
        MemoryStoreError: The memory can't be read.
    """
    known = await asyncio.to_thread(_ask, RecallRequest.model_validate(request))
    return known.model_dump(mode="json")


def _ask(request: RecallRequest) -> Recall:
    # A task run is given no open database, only its key; the flow opened it in this process.
    store = find_open_store(request.place)
    episodes = store.log.count(request.namespace)
    return Recall(
        episodes=episodes,
        steps=advise_on(request, {question.step for question in request.questions}),
        mitigations=precedents(store, request.namespace) if episodes else (),
        note=_note(store) if episodes else "",
    )


def advise_on(request: RecallRequest, steps: Collection[str]) -> tuple[StepRecall, ...]:
    """Return what the memory says of some of the steps that are asked about.

    Raises:
        MemoryStoreError: It can't be read.
    """
    store = find_open_store(request.place)
    episodes = store.log.count(request.namespace)
    registry = anticipate_agents(request.questions, store.personas.registry(request.namespace))
    beliefs = store.beliefs(request.namespace)
    return tuple(
        advise(
            question,
            store.similar(request.namespace, question.prompt, DEFAULTS.neighbours)
            if episodes
            else (),
            beliefs,
            registry,
            store.prompt_similarity,
            run=request.run,
            seed=request.seed,
        )
        for question in request.questions
        if question.step in steps
    )


def _note(store: Store) -> str:
    damage = store.reader.status().damage
    return f"The index can't be used and everything is searched: {damage}" if damage else ""
