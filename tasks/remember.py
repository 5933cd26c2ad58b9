"""What is remembered of an attempt, once it has ended. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from ..memory.episode import Episode, EpisodeKey, GateOutcome
from ..memory.learning.credit import reward_of
from ..output import OutputKind
from ..result import Attempt, excerpt
from ..task_ir import TaskType

__all__ = ["AttemptContext", "episode_of", "task_type_of"]

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
