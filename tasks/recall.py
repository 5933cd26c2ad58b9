"""Ask the memory about the steps of a plan, as a Prefect task run."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable
from typing import Any

from prefect import task
from prefect.cache_policies import CacheKeyFnPolicy
from prefect.context import TaskRunContext
from pydantic import BaseModel, ConfigDict

from ..memory.advice.advise import Question, advise, anticipated
from ..memory.advice.precedents import precedents
from ..memory.learning.config import DEFAULTS
from ..memory.store import Store, opened_store
from ..result import Recall
from ..task_ir import TaskIR, Tier
from .remember import task_type_of

__all__ = ["Enquiry", "enquiry", "recall"]


class Enquiry(BaseModel):
    """All that recalling depends on, but for the memory itself, which `place` is the key of."""

    model_config = ConfigDict(frozen=True)

    run: str
    place: str
    namespace: str
    seed: int
    questions: tuple[Question, ...]


def enquiry(
    plan: TaskIR,
    ladder: Callable[[Tier], tuple[Tier, ...]],
    *,
    run: str,
    place: str,
    namespace: str,
    seed: int,
) -> Enquiry:
    """Write down what a plan's steps ask.

    Args:
        ladder: The tiers that a step of a given one may climb, that one first.
    """
    agents = {agent.name: agent for agent in plan.agents}
    questions = tuple(
        Question(
            step=step.id,
            prompt=step.prompt,
            task_type=task_type_of(plan.task_type, step.output.kind),
            agent=step.agent,
            system_prompt=agents[step.agent].system_prompt,
            ladder=ladder(agents[step.agent].tier),
        )
        for step in plan.steps
    )
    return Enquiry(run=run, place=place, namespace=namespace, seed=seed, questions=questions)


def _key(_: TaskRunContext, parameters: dict[str, Any]) -> str:
    asked = Enquiry.model_validate(parameters["asked"])
    digest = hashlib.sha256(asked.model_dump_json(exclude={"place"}).encode()).hexdigest()
    return f"{asked.run}.recall.{digest[:16]}"


@task(
    name="recall",
    task_run_name="{name}",
    cache_policy=CacheKeyFnPolicy(cache_key_fn=_key),
    persist_result=True,
    result_serializer="json",
)
async def recall(asked: dict[str, Any], name: str) -> dict[str, Any]:  # noqa: ARG001 - its name
    """Advise on an enquiry; what was advised is kept, so that a resumed run goes by the same.

    Raises:
        MemoryStoreError: The memory can't be read.
    """
    known = await asyncio.to_thread(_ask, Enquiry.model_validate(asked))
    return known.model_dump(mode="json")


def _ask(asked: Enquiry) -> Recall:
    store = opened_store(asked.place)
    episodes = store.log.count(asked.namespace)
    registry = anticipated(asked.questions, store.personas.registry(asked.namespace))
    beliefs = store.beliefs(asked.namespace)
    steps = tuple(
        advise(
            one,
            store.similar(asked.namespace, one.prompt, DEFAULTS.neighbours) if episodes else (),
            beliefs,
            registry,
            store.alike,
            run=asked.run,
            seed=asked.seed,
        )
        for one in asked.questions
    )
    return Recall(
        episodes=episodes,
        steps=steps,
        mitigations=precedents(store, asked.namespace) if episodes else (),
        note=_note(store) if episodes else "",
    )


def _note(store: Store) -> str:
    damage = store.reader.standing().damage
    return f"The index can't be used and everything is searched: {damage}" if damage else ""
