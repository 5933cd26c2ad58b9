"""Run one gate on one artifact as a Prefect task run."""

from __future__ import annotations

from typing import Any

from prefect import task
from prefect.cache_policies import CacheKeyFnPolicy
from prefect.context import TaskRunContext
from prefect.states import Cancelled, Completed, Failed
from pydantic import BaseModel, ConfigDict

from ..gates import Cache, Subject, check, find_gate, said
from ..settings import home
from .race import unless_lost
from .tags import tag_task_run

__all__ = ["Inspection", "gate"]


class Inspection(BaseModel):
    """What a gate is to look at.

    `key` is the cache key of the attempt that made the artifact, `race` the race it runs in.
    """

    model_config = ConfigDict(frozen=True)

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
    result = await unless_lost(
        asked.race,
        check(
            find_gate(asked.gate),
            asked.subject,
            required=asked.required,
            cache=Cache(home() / "gates"),
        ),
    )
    if result is None:
        return Cancelled(message="Another candidate passed first.")
    content = result.model_dump(mode="json")
    found = said(result.diagnostics)
    if result.stops:
        return Failed(message=found, data=content)
    if result.status == "passed" and not result.diff:
        return content
    return Completed(message=found or _mended(result.diff), data=content)


def _mended(diff: str) -> str:
    changed = sum(line.startswith(("+", "-")) for line in diff.splitlines()[2:])
    return f"passed; {changed} lines of the diff mended" if diff else "skipped"
