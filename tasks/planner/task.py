"""Decompose an objective as a Prefect task run."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

from prefect import task
from prefect.cache_policies import CacheKeyFnPolicy
from prefect.context import TaskRunContext
from pydantic_ai.exceptions import (
    FallbackExceptionGroup,
    ModelAPIError,
    UnexpectedModelBehavior,
)
from pydantic_ai.models import Model

from ...data_types import Frozen
from ...errors import NoPlanError
from ...gates import gates
from ...models.llama.gguf import file_hash
from ...models.remote import AgentModel
from ...models.resolve import local_model, planner_adapter_of, profile_of, refusal, resolve_model
from ...plan.task_ir import PlanRules, StoredPlan, TierName
from ...store.procedures import find_procedure
from ...store.result import Planning
from ..task_runs import plan_span, tag_task_run
from .conversation import PlanContext, PlanDraft, Planner
from .facts import InputNote, PlanningFacts, offered_procedures
from .facts_text import FactsText, facts_text, notes_text, room_for
from .planners import AdapterPlanner, GrammarPlanner, StructuredPlanner

__all__ = ["PlanRequest", "Planned", "decompose", "plan_objective", "planner_for", "rules_of"]


def planner_for(model: Model, *, adapter: bool = True) -> Planner:
    """Return the planner of a model.

    Args:
        model: A model file plans under a grammar, with its adapter in lines; any other model gives
            structured output.
        adapter: Whether the planner's adapter of a model file is applied, if it has one.

    Raises:
        ModelError: The shipped adapter is damaged.
    """
    local = local_model(model)
    if local is None:
        return StructuredPlanner(model)
    if isinstance(model, AgentModel):
        model = model.wrapped
    path = local.planner_adapter if adapter else None
    return AdapterPlanner(model, path) if path is not None else GrammarPlanner(model, local)


class PlanRequest(Frozen):
    """What the orchestrator is asked. `run` is the flow run it belongs to.

    `adapter` says whether the adapter of a local model is applied, `inputs` what is given to read,
    `facts` what the swarm has and has seen, for planners that were not trained without it, `begun`
    what was complete of a plan that broke off, `notes` what was found with tools before, and
    `turns` whether the orchestrator may add to the plan later.
    """

    run: str
    objective: str
    model: str
    tier: TierName = "orchestrator"
    max_steps: int
    seed: int | None = None
    adapter: bool = True
    inputs: tuple[InputNote, ...] = ()
    facts: PlanningFacts | None = None
    begun: str = ""
    notes: str = ""
    turns: bool = False


class Planned(Frozen):
    """A plan and where it came from.

    `look_after` has the steps after whose end the orchestrator has its next turn.
    """

    plan: StoredPlan
    planning: Planning
    look_after: tuple[str, ...] = ()


def _key(_: TaskRunContext, parameters: dict[str, Any]) -> str:
    request = PlanRequest.model_validate(parameters["request"])
    # Another adapter writes another plan.
    adapter = planner_adapter_of(request.model) if request.adapter else None
    # What the memory knew that day, and what was found with tools, is another day's otherwise.
    # Without the others the key is the one that it was before requests had them.
    left_out = {"facts", "notes"} | {
        name for name in ("inputs", "begun", "turns") if not getattr(request, name)
    }
    content = request.model_dump_json(exclude=left_out) + (file_hash(adapter) if adapter else "")
    # The names of toolsets and procedures are among the rules that a plan has to keep.
    content += "".join(f"\n{fact.name}" for fact in request.facts.toolsets) if request.facts else ""
    content += "".join(f"\nprocedure {name}" for name in offered_procedures(request.facts))
    digest = hashlib.sha256(content.encode()).hexdigest()[:16]
    return f"{request.run}.plan.{digest}"


@task(
    name="plan",
    task_run_name="{name}",
    cache_policy=CacheKeyFnPolicy(cache_key_fn=_key),
    persist_result=True,
    result_serializer="json",
)
async def decompose(
    request: dict[str, Any],
    name: str,  # noqa: ARG001 - the run's name
) -> dict[str, Any]:
    """Have the orchestrator write a plan.

    Raises:
        ModelError: It can't be reached, or refuses.
        NoPlanError: No plan it wrote can be read.
    """
    tag_task_run(f"tier: {request['tier']}")
    with plan_span(request["tier"]):
        planned = await plan_objective(PlanRequest.model_validate(request))
    return planned.model_dump(mode="json")


def rules_of(max_steps: int, inputs: Iterable[str], facts: PlanningFacts | None) -> PlanRules:
    """Return the rules that a model's plan has to keep: it may name what the facts offer."""
    offered = frozenset(fact.name for fact in facts.toolsets) if facts else frozenset[str]()
    procedures = offered_procedures(facts)
    return PlanRules(max_steps, frozenset(gates()), frozenset(inputs), offered, procedures)


async def plan_objective(request: PlanRequest) -> Planned:
    """Have the orchestrator write a plan, without Prefect; `decompose` and a dry run share it.

    Raises:
        ModelError: It can't be reached, or refuses.
        NoPlanError: No plan it wrote can be read.
    """
    model = await resolve_model(request.model, request.tier)
    names = frozenset(note.name for note in request.inputs)
    planner = planner_for(model, adapter=request.adapter)
    if not planner.reads_facts:
        request = request.model_copy(update={"facts": None, "notes": ""})
    rules = rules_of(request.max_steps, names, request.facts)
    room = room_for(profile_of(model).context_tokens)
    shown = facts_text(request.facts, room) if request.facts else FactsText()
    context = PlanContext(
        rules,
        request.seed,
        inputs=request.inputs,
        facts=shown.text,
        begun=request.begun,
        notes=notes_text(request.notes, room),
        turns=request.turns,
        find_procedure=find_procedure if rules.procedures else None,
    )
    try:
        draft = await planner.plan(request.objective, context)
    except FallbackExceptionGroup as group:
        raise _refused(model, group.exceptions[0]) from group
    except ModelAPIError as error:
        raise _refused(model, error) from error
    except UnexpectedModelBehavior as error:
        problem = f"{model.model_name} gave no usable answer when it was asked for a plan: {error}"
        raise NoPlanError(problem, "Ask another model, or give a plan.") from error
    planning = _planning(draft, model.model_name, shown)
    return Planned(plan=draft.plan, planning=planning, look_after=draft.look_after)


def _refused(model: Model, error: Exception) -> Exception:
    return refusal(model, error) if isinstance(error, ModelAPIError) else error


def _planning(draft: PlanDraft, model: str, shown: FactsText) -> Planning:
    return Planning(
        source="orchestrator",
        model=model,
        score=draft.score,
        candidates=draft.candidates,
        choice=draft.origin,
        adapter=file_hash(draft.adapter) if draft.adapter else None,
        usage=draft.usage,
        shown_runs=shown.runs,
        shown_personas=shown.personas,
    )
