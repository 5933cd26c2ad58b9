"""What Dask calls on a worker. Importing this loads little: a scheduler imports it, too."""

from __future__ import annotations

import asyncio
import json
from importlib import import_module
from typing import Any

from ...host.system import package_version

__all__ = ["attempt", "describe", "forget", "free", "reply"]

_LOOK_S = 0.25
"""How often it is looked whether anybody still wants what is worked on."""
_WANTED = ("executing", "long-running")


async def attempt(work: str) -> str:
    """Work on an attempt, and return what it came to; both are JSON.

    It is stopped within a second where nobody wants it any more: Dask itself lets it run on.
    """
    from distributed import get_worker

    worker: Any = get_worker()
    asked = json.loads(work)
    if problem := _other_version(asked["version"]):
        lacks = {"kind": "lacks", "worker": str(worker.name), "address": worker.address}
        return json.dumps({**lacks, "what": problem})
    host: Any = await _host()
    working = asyncio.wrap_future(host.begin(work, worker))
    try:
        while not working.done():
            await asyncio.wait({working}, timeout=_LOOK_S)
            task = worker.state.tasks.get(asked["key"])
            if not working.done() and (task is None or task.state not in _WANTED):
                raise asyncio.CancelledError
        return working.result()
    finally:
        working.cancel()


async def describe(setup: str) -> str:
    """Return what keeps this worker from working on a run's attempts; "" if nothing does."""
    if problem := _other_version(json.loads(setup)["version"]):
        return problem
    host: Any = await _host()
    return await asyncio.to_thread(host.problem_of, setup)


async def reply(topic: str, key: str, number: int, problem: str, fix: str) -> None:
    """Let an attempt send its next request, or have it fail with a problem."""
    host: Any = await _host()
    host.reply(topic, key, number, problem, fix)


async def free(topic: str, characters: int) -> None:
    """Let a worker send so many more characters of what models write."""
    host: Any = await _host()
    host.free(topic, characters)


def forget(topic: str, dask_scheduler: Any = None) -> None:
    """Have the scheduler keep nothing more of a run's messages."""
    dask_scheduler._broker._topics.pop(topic, None)


def _other_version(asked: str) -> str:
    own = package_version()
    return "" if own == asked else f"prefect-swarm {asked} (it has {own})"


async def _host() -> Any:
    # Prefect and the models take seconds to import, and the worker's own loop must go on.
    module = await asyncio.to_thread(import_module, f"{__package__}.worker")
    return module.host()
