"""Asking the memory about the steps of a plan, and what is remembered of an attempt."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from prefect import task
from prefect.cache_policies import CacheKeyFnPolicy
from prefect.context import TaskRunContext

from ..data_types import Frozen
from ..memory.episode import Episode, EpisodeKey, GateOutcome
from ..memory.learning.advise import StepQuestion, advise, anticipate_agents
from ..memory.learning.mitigation import precedents
from ..memory.learning.reward import DEFAULTS, reward_of
from ..memory.store import Store, find_open_store
from ..plan.compile import StepRecall
from ..plan.output import OutputKind
from ..plan.step import placed_steps
from ..plan.task_ir import ANY_AGENT, TaskIR, TaskType, Tier
from ..store.attempt import Attempt, excerpt
from ..store.result import Recall

__all__ = [
    "AttemptContext",
    "RecallRequest",
    "advise_on",
    "episode_of",
    "recall",
    "recall_request",
    "task_type_of",
]


_OBJECTIVE, _PROMPT, _ERROR, _ARTIFACT = 500, 2000, 600, 1000
_AGAIN = 1000


@dataclass(frozen=True, slots=True)
class AttemptContext:
    """What an attempt belonged to.

    Attributes:
        run: The flow run's id.
        again: How often the step was begun again before; its attempts then count from 1001, 2001 …
        persona: Who did it, as the registry knows them, else the planner's name for them.
        used: The memories that chose for it or were shown to it.
    """

    namespace: str
    run: str
    step: str
    objective: str
    task_type: TaskType
    output: OutputKind
    prompt: str
    persona: str
    upstream: tuple[str, ...] = ()
    downstream: tuple[str, ...] = ()
    used: tuple[EpisodeKey, ...] = ()
    again: int = 0


def task_type_of(task_type: TaskType, kind: OutputKind) -> str:
    """Return what kind of work a step is, such as `code/python`."""
    return f"{task_type}/{kind}"


def episode_of(
    context: AttemptContext, attempt: Attempt, before: Sequence[Attempt], artifact: str
) -> Episode:
    """Write an attempt as an episode; long texts are bounded.

    Args:
        before: The step's earlier attempts, oldest first.
        artifact: What it made, as its gates left it.
    """
    gates = tuple(
        GateOutcome(gate=result.gate, status=result.status, category=result.category)
        for result in attempt.gates
    )
    led = before[-1].decision if before else None
    actions = [earlier.decision.action for earlier in before if earlier.decision]
    reward = reward_of(
        attempt.category is None,
        attempt.category,
        gates,
        escalations=actions.count("ESCALATE"),
    )
    return Episode(
        namespace=context.namespace,
        run=context.run,
        step=context.step,
        attempt=context.again * _AGAIN + attempt.number,
        objective=excerpt(context.objective, _OBJECTIVE),
        task_type=task_type_of(context.task_type, context.output),
        output=context.output,
        prompt=excerpt(context.prompt, _PROMPT),
        persona=context.persona,
        tier=attempt.tier,
        model=attempt.model,
        revision=attempt.revision,
        cause=led.action if led else None,
        decision=attempt.decision.action if attempt.decision else None,
        rule=attempt.decision.rule if attempt.decision else "",
        succeeded=attempt.category is None,
        category=attempt.category,
        error=excerpt(attempt.error or "", _ERROR),
        gates=gates,
        input_tokens=attempt.usage.input_tokens,
        output_tokens=attempt.usage.output_tokens,
        started_at=attempt.started_at,
        ended_at=attempt.ended_at,
        duration_s=attempt.duration_s,
        reward=reward.value,
        terms=reward.terms,
        upstream=context.upstream,
        downstream=context.downstream,
        used=context.used,
        artifact=hashlib.sha256(artifact.encode()).hexdigest() if artifact else "",
        excerpt=excerpt(artifact, _ARTIFACT),
    )


class RecallRequest(Frozen):
    """All that recalling depends on, except for the memory itself, which `place` is the key of."""

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
    placed = list(placed_steps(plan.agents, plan.steps))
    tiers: set[Tier] = {each.agent.tier for each in placed}
    ladders = {tier: ladder(tier) for tier in tiers}
    questions = tuple(
        StepQuestion(
            step=name,
            prompt=step.prompt,
            task_type=task_type_of(plan.task_type, step.output.kind),
            agent=step.agent,
            system_prompt=agent.system_prompt,
            ladder=ladders[agent.tier],
            named=name in written and step.agent != ANY_AGENT,
        )
        for name, step, agent in placed
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
