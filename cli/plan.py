"""`prefect-swarm plan`: what would run, and nothing runs."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from ..errors import InputError
from ..flows.compile import CompiledPlan, StepDefaults, compile_plan
from ..flows.options import SwarmOptions
from ..flows.run_inputs import with_inputs
from ..gates import build_pipeline
from ..pricing import price_of_name
from ..result import Planning
from ..task_ir import TaskIR
from ..tasks.report.mermaid import DagStep, mermaid
from .command import AsJson
from .models import prepare_weights
from .output.plan import estimate_line, print_plan
from .output.printing import print_json, print_text
from .progress.session import say
from .source import (
    Files,
    ItemsFile,
    Join,
    Objective,
    PlanFile,
    RunSource,
    Template,
    read_source,
)

__all__ = ["plan"]


def plan(
    objective: Objective = None,
    plan: PlanFile = None,
    items: ItemsFile = None,
    template: Template = None,
    join: Join = None,
    file: Files = None,
    options: SwarmOptions = SwarmOptions(),  # noqa: B008 - frozen, and replaced by the options given
    as_mermaid: Annotated[
        bool, typer.Option("--mermaid", help="Print a Mermaid flowchart instead of the table.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Show the plan for an objective and run nothing.

    `run --plan` takes what --json prints, with the same files.
    """
    if as_mermaid and as_json:
        raise InputError("--mermaid and --json were both given.", "Give one of them.")
    source = read_source(objective, plan, items, template, join, options.max_steps, file)
    task_ir = source.plan or asyncio.run(_ask(source, options))
    for names in options.gates.values():
        build_pipeline(names)  # names what isn't there
    defaults = StepDefaults(options.max_attempts, options.gates)
    names = asyncio.run(_toolsets(options)) if any(each.tools for each in task_ir.agents) else None
    compiled = compile_plan(with_inputs(task_ir, source.inputs), defaults, toolsets=names)
    if as_json:
        print_json(task_ir)
    elif as_mermaid:
        print_text(mermaid(_dag(compiled)))
    else:
        print_plan(compiled)
        print_text(estimate_line(compiled, options))
    return 0


def _dag(plan: CompiledPlan) -> list[DagStep]:
    return [
        DagStep(step.id, step.agent, step.prompt, step.upstream, "waiting") for step in plan.steps
    ]


async def _toolsets(options: SwarmOptions) -> frozenset[str]:
    from ..flows.preflight import catalogue_of_options

    return (await catalogue_of_options(options)).names


async def _ask(source: RunSource, options: SwarmOptions) -> TaskIR:
    from ..blocks.loop_models import open_models
    from ..blocks.models import resolve_model
    from ..blocks.preflight import check_served
    from ..flows.preflight import toolsets_of_run
    from ..flows.stored.facts import gather_facts
    from ..tasks.planner.given_inputs import notes_of
    from ..tasks.planner.task import PlanRequest, plan_objective

    request = PlanRequest(
        run="plan",
        objective=source.objective,
        model=options.model_of("orchestrator"),
        max_steps=options.max_steps,
        seed=options.seed,
        adapter=options.adapter,
        inputs=notes_of(source.inputs),
    )
    async with open_models():
        model = await resolve_model(request.model, "orchestrator")
        # A server that isn't there is an error now, and not after the patience of a request.
        await check_served(model, probe=False)
        prepare_weights(model, planning=options.adapter)
        # As a run's planner is shown it, but for the memory, which a dry run doesn't open.
        async with toolsets_of_run("plan", options) as toolsets:
            facts = await gather_facts(
                source.objective, options, price_of_name, None, toolsets=toolsets
            )
        planned = await plan_objective(request.model_copy(update={"facts": facts}))
    say(_origin(planned.planning))
    return planned.plan


def _origin(planning: Planning) -> str:
    score = "" if planning.score is None else f", score {planning.score:.2f}"
    return f"Planned by {planning.model}{score} ({planning.choice})."
