"""The span of a run. A run that is resumed begins another trace, which names the one before."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from opentelemetry.trace import Link, Span, SpanContext, TraceFlags

from ...errors import RunDamagedError
from ...model_names import model_names, without_place
from ...result import SwarmResult
from ...runs import RunFolder
from ...task_ir import TIERS, TierName
from ...tracing import Attributes, fail, is_traced, span
from ...tracing.content import content_setting_read
from ...tracing.environment import flush
from ...tracing.prefect_spans import without_prefect_spans
from ..options import SwarmOptions

__all__ = ["traced_run"]

_FILE = "trace.json"
_TIERS: tuple[TierName, ...] = (*TIERS, "orchestrator")


async def traced_run(
    run: RunFolder,
    flow_run_id: str,
    objective: str,
    options: SwarmOptions,
    work: Coroutine[Any, Any, SwarmResult],
) -> SwarmResult:
    """Await a run's result within a span of its own; without one where nobody takes spans."""
    if not is_traced():
        return await work
    before = _span_before(run)
    attributes = {
        "prefect.flow_run.id": flow_run_id,
        "prefect_swarm.run.id": run.run_id,
        "prefect_swarm.objective.chars": len(objective),
        "prefect_swarm.resumed.trace_id": f"{before.trace_id:032x}" if before else None,
        **_models(options),
    }
    links = [Link(before)] if before else []
    try:
        with (
            content_setting_read(),
            without_prefect_spans(),
            span("run", attributes, links) as current,
        ):
            _keep(run, current)
            result = await work
            _conclude(current, result)
    finally:
        await asyncio.to_thread(flush)
    return result


def _conclude(current: Span, result: SwarmResult) -> None:
    current.set_attribute("prefect_swarm.outcome", result.status)
    current.set_attribute("prefect_swarm.steps", len(result.steps))
    current.set_attribute("prefect_swarm.plan.hash", result.content_hash)
    if result.status == "failed":
        fail(current, "RunFailedError", result.problem)


def _models(options: SwarmOptions) -> Attributes:
    return {f"prefect_swarm.model.{tier}": _shown(options.model_of(tier)) for tier in _TIERS}


def _shown(models: str) -> str:
    """Return models' names without servers, keys and folders."""
    return ",".join(map(without_place, model_names(models)))


def _keep(run: RunFolder, current: Span) -> None:
    context = current.get_span_context()
    ids = {"trace_id": f"{context.trace_id:032x}", "span_id": f"{context.span_id:016x}"}
    run.store(_FILE, ids)


def _span_before(run: RunFolder) -> SpanContext | None:
    """Return the span that the run had in an earlier process, if it was traced then."""
    try:
        ids = run.read_json(_FILE)
        trace_id, span_id = int(str(ids["trace_id"]), 16), int(str(ids["span_id"]), 16)
    except (RunDamagedError, KeyError, ValueError):
        return None
    return SpanContext(trace_id, span_id, is_remote=True, trace_flags=TraceFlags(1))
