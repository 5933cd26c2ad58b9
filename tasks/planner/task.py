"""Decompose an objective as a Prefect task run."""

from __future__ import annotations

import hashlib
import logging
from functools import cache
from typing import Any

from prefect import task
from prefect.cache_policies import CacheKeyFnPolicy
from prefect.context import TaskRunContext
from pydantic import BaseModel, ConfigDict
from pydantic_ai.exceptions import ModelAPIError

from ...blocks.llama.adapter import file_hash
from ...blocks.models import planner_adapter_of, resolve_model
from ...errors import ModelError
from ...gates import gates
from ...result import Planning
from ...task_ir import PlanRules, TaskIR, TierName
from ..subagent.task import retry_transport
from ..tags import tag_task_run
from .local.selection import told
from .planner import PlanDraft, draft_plan, why_without_adapter

__all__ = ["Commission", "Planned", "decompose", "plan_objective"]

_logger = logging.getLogger(__name__)


class Commission(BaseModel):
    """What the orchestrator is asked. `run` is the flow run it belongs to.

    `adapter` says whether a local model wears its adapter for planning.
    """

    model_config = ConfigDict(frozen=True)

    run: str
    objective: str
    model: str
    tier: TierName = "orchestrator"
    max_steps: int
    seed: int
    adapter: bool = True


class Planned(BaseModel):
    """A plan and where it came from."""

    model_config = ConfigDict(frozen=True)

    plan: TaskIR
    planning: Planning


def _key(_: TaskRunContext, parameters: dict[str, Any]) -> str:
    commission = Commission.model_validate(parameters["commission"])
    # Another adapter writes another plan.
    adapter = planner_adapter_of(commission.model) if commission.adapter else None
    said = commission.model_dump_json() + (file_hash(adapter) if adapter else "")
    asked = hashlib.sha256(said.encode()).hexdigest()[:16]
    return f"{commission.run}.plan.{asked}"


@task(
    name="plan",
    task_run_name="{name}",
    cache_policy=CacheKeyFnPolicy(cache_key_fn=_key),
    persist_result=True,
    result_serializer="json",
    retries=2,
    retry_delay_seconds=[1, 4],
    retry_condition_fn=retry_transport,
)
async def decompose(
    commission: dict[str, Any],
    name: str,  # noqa: ARG001 - the run's name
) -> dict[str, Any]:
    """Have the orchestrator write a plan.

    Raises:
        ModelError: It can't be reached, or refuses.
        NoPlanError: No plan it wrote can be read.
    """
    tag_task_run(f"tier: {commission['tier']}")
    planned = await plan_objective(Commission.model_validate(commission))
    return planned.model_dump(mode="json")


async def plan_objective(commission: Commission) -> Planned:
    """Have the orchestrator write a plan, without Prefect; `decompose` and a dry run share it.

    Raises:
        ModelError: It can't be reached, or refuses.
        NoPlanError: No plan it wrote can be read.
    """
    model = await resolve_model(commission.model, commission.tier)
    rules = PlanRules(max_steps=commission.max_steps, gates=frozenset(gates()))
    if commission.adapter and (why := why_without_adapter(model)):
        _tell_once(why)
    try:
        draft = await draft_plan(
            commission.objective,
            model,
            rules=rules,
            seed=commission.seed,
            adapter=commission.adapter,
        )
    except ModelAPIError as error:
        raise ModelError(
            f"{model.model_name} can't be asked for a plan: {error}.",
            "Check that it is served, its name, its key and its settings.",
        ) from error
    return Planned(plan=draft.plan, planning=_planning(draft, model.model_name))


@cache
def _tell_once(why: str) -> None:
    _logger.info(why)


def _planning(draft: PlanDraft, model: str) -> Planning:
    return Planning(
        source="orchestrator",
        model=model,
        score=draft.score.value,
        candidates=len(draft.candidates),
        choice="; ".join((told(draft.candidates, draft.alike), *draft.mended)),
        adapter=file_hash(draft.adapter) if draft.adapter else None,
        usage=draft.usage,
    )
