"""`prefect-swarm run`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import cast

from ..flows.options import SwarmOptions
from ..result import SwarmResult
from ..task_ir import is_orchestrated
from .command import AsEvents, AsJson
from .models import check_models
from .progress.session import check_output, run_and_report
from .source import ItemsFile, Join, Objective, PlanFile, RunSource, Template, read_source

__all__ = ["run"]


def run(
    objective: Objective = None,
    plan: PlanFile = None,
    items: ItemsFile = None,
    template: Template = None,
    join: Join = None,
    options: SwarmOptions = SwarmOptions(),  # noqa: B008 - frozen, and replaced by the options given
    as_json: AsJson = False,
    stream: AsEvents = False,
) -> int:
    """Plan an objective and run it; or run a plan, or a template over many items.

    With `--stream` providers are asked to stream.
    """
    check_output(as_json=as_json, as_events=stream)
    if stream:
        options = options.model_copy(update={"stream_text": True})
    source = read_source(objective, plan, items, template, join, options.max_steps)
    orchestrated = is_orchestrated(source.plan)
    asyncio.run(check_models(options, orchestrated=orchestrated))
    return run_and_report(
        source.objective, lambda: _begin(source, options), as_json=as_json, as_events=stream
    )


def _begin(source: RunSource, options: SwarmOptions) -> Callable[[], Awaitable[SwarmResult]]:
    from ..flows.swarm import swarm

    run_swarm = cast("Callable[..., Awaitable[SwarmResult]]", swarm)
    return lambda: run_swarm(source.objective, plan=source.plan, options=options)
