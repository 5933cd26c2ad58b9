"""Run one gate on one artifact as a Prefect task run."""

from __future__ import annotations

from typing import Any

from prefect import task
from prefect.cache_policies import CacheKeyFnPolicy
from prefect.context import TaskRunContext
from prefect.states import Cancelled, Completed, Failed

from ..frozen import Frozen
from ..gates import GateCache, Subject, check, find_gate, format_diagnostics
from ..settings import home
from .race import run_in_race
from .spans import gate_span, note_verdict
from .tags import tag_task_run

__all__ = ["Inspection", "gate"]


class Inspection(Frozen):
    """What a gate is to look at.

    `key` is the cache key of the attempt that made the artifact, `race` the race it runs in.
    """

    key: str
    gate: str
    required: bool = True
    race: str = ""
    subject: Subject


def _key(_: TaskRunContext, parameters: dict[str, Any]) -> str:
    inspection = parameters["inspection"]
    return f"{inspection['key']}.{inspection['gate']}"


@task(
    name="gate",
    task_run_name="{name}",
    cache_policy=CacheKeyFnPolicy(cache_key_fn=_key),
    persist_result=True,
    result_serializer="json",
)
async def gate(inspection: dict[str, Any], name: str) -> Any:  # noqa: ARG001 - the run's name
    """Hold an artifact against a gate; a failed gate is a Failed state that carries the verdict."""
    asked = Inspection.model_validate(inspection)
    tag_task_run(f"gate: {asked.gate}")
    # `flows/attempt.py` opened the race, if any, in this process; it is found by its name.
    with gate_span(asked.gate, required=asked.required) as span:
        result = await run_in_race(
            asked.race,
            check(
                find_gate(asked.gate),
                asked.subject,
                required=asked.required,
                cache=GateCache(home() / "gates"),
            ),
        )
        note_verdict(span, result)
    if result is None:
        return Cancelled(message="Another candidate passed first.")
    content = result.model_dump(mode="json")
    found = format_diagnostics(result.diagnostics)
    if result.stops:
        return Failed(message=found, data=content)
    if result.status == "passed" and not result.diff:
        return content
    return Completed(message=found or _repaired(result.diff), data=content)


def _repaired(diff: str) -> str:
    changed = sum(line.startswith(("+", "-")) for line in diff.splitlines()[2:])
    return f"passed after a repair, a diff of {changed} lines" if diff else "skipped"
