"""Prefect's own part: as many task runs that do nothing, persisted and cached as subagents' are."""

from __future__ import annotations

import asyncio
from time import perf_counter, process_time
from typing import Any, cast

from fixed_latency import Taken
from prefect import flow, task
from prefect.cache_policies import CacheKeyFnPolicy
from prefect.context import TaskRunContext
from prefect.runtime import flow_run
from prefect.utilities.annotations import quote

__all__ = ["run_bare"]


def _key(_: TaskRunContext, parameters: dict[str, Any]) -> str:
    return parameters["payload"]["key"]


@task(
    task_run_name="{name}",
    cache_policy=CacheKeyFnPolicy(cache_key_fn=_key),
    persist_result=True,
    result_serializer="json",
)
async def _nothing(payload: dict[str, str], name: str) -> dict[str, str]:  # noqa: ARG001 - the name is the task run's
    return payload


@flow(name="bare")
async def _bare(count: int, slots: int) -> float:
    start = perf_counter()
    free = asyncio.Semaphore(slots)
    run = str(flow_run.id)

    async def run_step(number: int) -> None:
        async with free:
            payload = {"key": f"{run}.{number}", "text": "Done."}
            state = await cast("Any", _nothing)(quote(payload), f"T{number}", return_state=True)
            assert state.is_completed()

    await asyncio.gather(*(run_step(number) for number in range(count)))
    return perf_counter() - start


async def run_bare(count: int, slots: int) -> Taken:
    """Run so many tasks, so many at once."""
    cpu = process_time()
    inside = await cast("Any", _bare)(count, slots)
    return Taken(inside, process_time() - cpu)
