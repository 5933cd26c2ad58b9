"""Hold an artifact against gates, as one Prefect task run."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

from prefect import task
from prefect.cache_policies import CacheKeyFnPolicy
from prefect.context import TaskRunContext
from prefect.states import Cancelled, Completed

from ..gates import (
    Gate,
    GateCache,
    GateResult,
    PipelineResult,
    Subject,
    build_pipeline,
    check,
    format_diagnostics,
    gate_name,
    run_pipeline,
)
from ..settings import home
from ..store.attempt import excerpt
from ..store.runs import open_run
from ..store.workspace import open_workspace
from ..text import visible
from .context import current_task, unless_won
from .inspection import Inspection, Verdicts
from .task_runs import failed_result, gate_span, note_verdict, tag_task_run

__all__ = ["LOST", "gates", "inspect", "summary"]


def summary(results: Sequence[GateResult], asked: Sequence[str]) -> str:
    """Say how many gates passed, and what the others found.

    Args:
        results: Of the gates that had a look.
        asked: The names of all gates; those behind a failure never had a look.
    """
    if len(asked) == 1:
        return "; ".join(f"{result.gate} {_words(result)}" for result in results)
    stopped = [result for result in results if result.stops]
    if stopped:
        found = "; ".join(f"{result.gate}: {_found(result)}" for result in stopped)
        parts = [f"{len(stopped)} of {len(asked)} gates failed: {found}"]
    else:
        passed = sum(result.status == "passed" for result in results)
        parts = [f"{passed} of {len(asked)} gates passed"]
    parts += [f"{result.gate} {_words(result)}" for result in results if _is_worth_a_word(result)]
    seen = {result.gate for result in results}
    unasked = [name for name in map(gate_name, asked) if name not in seen]
    return ". ".join([*parts, f"Not asked: {', '.join(unasked)}"] if unasked else parts)


def _is_worth_a_word(result: GateResult) -> bool:
    return not result.stops and (result.status != "passed" or bool(result.diff))


def _words(result: GateResult) -> str:
    if result.status == "passed" and result.diff:
        changed = sum(line.startswith(("+", "-")) for line in result.diff.splitlines()[2:])
        return f"passed after a repair, a diff of {changed} lines"
    broke = result.status in ("failed", "error")
    optional = " (optional)" if broke and not result.required else ""
    found = _found(result)
    return f"{result.status}{optional}: {found}" if found else f"{result.status}{optional}"


def _found(result: GateResult) -> str:
    return excerpt(format_diagnostics(result.diagnostics))


def _key(_: TaskRunContext, parameters: dict[str, Any]) -> str:
    return parameters["inspection"]["key"]


@task(
    name="gates",
    task_run_name="{name}",
    cache_policy=CacheKeyFnPolicy(cache_key_fn=_key),
    persist_result=True,
    result_serializer="json",
)
async def gates(inspection: dict[str, Any], name: str) -> Any:  # noqa: ARG001 - the run's name
    """Hold an artifact against gates, stage by stage; the result has what each of them found.

    Where it has to pass one and doesn't, that is a Failed state, which carries it all the same.
    """
    asked = Inspection.model_validate(inspection)
    tag_task_run(*(f"gate: {gate_name(asked_for)}" for asked_for in asked.gates))
    found = current_task().inspected or await _found_by(asked)
    if found is None:
        return Cancelled(message=LOST)
    content = Verdicts(results=found.results).model_dump(mode="json")
    message = summary(found.results, asked.gates)
    if found.stopped_by is not None:
        return await failed_result(message, content)
    return Completed(message=visible(message), data=content)


LOST = "Another candidate passed first."


async def _found_by(inspection: Inspection) -> PipelineResult | None:
    executor = current_task().executor
    if executor is None:
        return await inspect(inspection)
    return await unless_won(executor.inspect(inspection))


async def inspect(inspection: Inspection) -> PipelineResult | None:
    """Return what gates find, stage by stage; None if another candidate passes first."""
    pipeline = build_pipeline(inspection.gates)
    if (place := inspection.subject.workplace) is not None:
        # A worker of another machine makes the repository from the run's store.
        await asyncio.to_thread(open_workspace, open_run(place.run))
    return await unless_won(run_pipeline(pipeline, inspection.subject, _look))


async def _look(gate: Gate, subject: Subject, required: bool) -> GateResult:
    context = current_task()
    async with context.light if gate.stage == "light" else nullcontext():
        with gate_span(gate.name, required=required) as span:
            cache = context.gate_cache or GateCache(home() / "gates")
            result = await check(gate, subject, required=required, cache=cache)
            note_verdict(span, result)
    context.on_verdict(result)
    return result
