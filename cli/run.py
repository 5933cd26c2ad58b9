"""`prefect-swarm run`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import cast

from ..flows.options import SwarmOptions
from ..result import SwarmResult
from ..task_ir import TIERS, TierName
from ..tasks.plan_lines import is_orchestrated
from .command import AsJson
from .session import run_and_report
from .source import ItemsFile, Join, Objective, PlanFile, Source, Template, read_source

__all__ = ["check_models", "run"]


def run(
    objective: Objective = None,
    plan: PlanFile = None,
    items: ItemsFile = None,
    template: Template = None,
    join: Join = None,
    options: SwarmOptions = SwarmOptions(),  # noqa: B008 - frozen, and replaced by the options given
    as_json: AsJson = False,
) -> int:
    """Plan an objective and run it; or run a plan, or a template over many items."""
    source = read_source(objective, plan, items, template, join, options.max_steps)
    asyncio.run(check_models(options, orchestrated=is_orchestrated(source.plan)))
    return run_and_report(source.objective, lambda: _begin(source, options), as_json=as_json)


def _begin(source: Source, options: SwarmOptions) -> Callable[[], Awaitable[SwarmResult]]:
    from ..flows.swarm import swarm

    run_swarm = cast("Callable[..., Awaitable[SwarmResult]]", swarm)
    return lambda: run_swarm(source.objective, plan=source.plan, options=options)


async def check_models(options: SwarmOptions, *, orchestrated: bool) -> None:
    """Find out about a model that can't be had before a server is started for it.

    Raises:
        InputError: A model's name has none of the known forms.
        ModelError: A model can't be had.
    """
    from ..blocks.models import resolve_model

    tiers: list[TierName] = [*TIERS, "orchestrator"] if orchestrated else [*TIERS]
    for tier in tiers:
        # Blocks are kept on the Prefect server; the flow looks them up itself.
        if not options.model_of(tier).startswith("block:"):
            await resolve_model(options.model_of(tier), tier)
