"""Run one gate on one artifact as a Prefect task run."""

from __future__ import annotations

from typing import Any

from prefect import task
from prefect.cache_policies import CacheKeyFnPolicy
from prefect.context import TaskRunContext
from prefect.states import Failed
from pydantic import BaseModel, ConfigDict

from ..gates import GATES
from ..task_ir import Output
from .tags import tag_task_run

__all__ = ["Inspection", "gate"]


class Inspection(BaseModel):
    """What a gate is to look at. `key` is the cache key of the attempt that made the artifact."""

    model_config = ConfigDict(frozen=True)

    key: str
    gate: str
    artifact: str
    output: Output


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
    result = GATES[asked.gate](asked.artifact, asked.output)
    content = result.model_dump(mode="json")
    if result.status in ("passed", "skipped"):
        return content
    return Failed(message="; ".join(result.diagnostics), data=content)
