"""A Dask cluster as one run uses it: its scheduler, its workers, and what they say."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from ...errors import ClusterError, InputError
from ...host.system import package_version
from . import entry

__all__ = ["PATIENCE_S", "START_S", "Cluster", "KnownWorker", "describe_cluster", "scheduler_of"]

START_S = 10.0
"""How long a scheduler is waited for that was never there, and then a first worker."""
PATIENCE_S = 60.0
"""How long a scheduler that was there is waited for, and a worker for work."""
_PAUSE_S = 0.5
_CALL_S = 120.0
"""How long a call may take: the first on a worker imports Prefect and the models."""
_LOOK_S = 30.0
_SCHEME = "dask:"

_logger = logging.getLogger("prefect_swarm.cluster")


def scheduler_of(executor: str) -> str:
    """Return the address of the scheduler that an option names."""
    return executor.removeprefix(_SCHEME)


@dataclass(frozen=True, slots=True)
class KnownWorker:
    """A worker that the scheduler has: its name, and how much it has of each resource."""

    name: str
    resources: Mapping[str, float] = field(default_factory=dict[str, float])


class Cluster:
    """A connection to a cluster, which is made again where it breaks."""

    def __init__(self, address: str, topic: str, handle: Callable[[str], None]) -> None:
        """Take the scheduler's address, and what gets the messages of a topic.

        Raises:
            InputError: `distributed` is not installed.
        """
        try:
            import distributed
        except ImportError as error:
            raise InputError(
                f"The executor is dask:{address}, but `distributed` can't be loaded: {error}.",
                "Install it: pip install 'prefect-swarm[dask]'",
            ) from error
        self.address, self.topic = address, topic
        self._module: Any = distributed
        self._handle = handle
        self._client: Any = None
        self._lock = asyncio.Lock()
        self._closing: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        """Connect for the first time.

        Raises:
            ClusterError: There is no such scheduler.
        """
        self._client = await self._connected(START_S)

    async def client(self) -> Any:
        """Return Dask's client, connected.

        Raises:
            ClusterError: The scheduler is away for longer than it is waited for.
        """
        if self._is_open:
            return self._client
        async with self._lock:
            if not self._is_open:
                self._leave()
                _logger.warning(
                    "The Dask scheduler at %s is away; it is waited for, up to %.0f s.",
                    *(self.address, PATIENCE_S),
                )
                self._client = await self._connected(PATIENCE_S)
            return self._client

    async def workers(self) -> dict[str, KnownWorker]:
        """Return the workers that there are, by their addresses."""
        client = await self.client()
        async with asyncio.timeout(_LOOK_S):
            found: Any = await client.scheduler.identity(n_workers=-1)
        return {
            address: KnownWorker(str(worker["name"]), dict(worker.get("resources") or {}))
            for address, worker in found["workers"].items()
        }

    async def call(self, function: Callable[..., Any], *args: Any, worker: str = "") -> Any:
        """Call something on a worker, or on all: what it returns, or the error, by worker.

        Raises:
            ClusterError: The scheduler is away, or a worker doesn't answer.
        """
        client = await self.client()
        workers = [worker] if worker else None
        try:
            async with asyncio.timeout(_CALL_S):
                return await client.run(function, *args, workers=workers, on_error="return")
        except TimeoutError:
            raise ClusterError(
                f"Workers of the Dask cluster at {self.address} didn't answer within "
                f"{_CALL_S:.0f} s.",
                "Look into their logs, or end those that hang.",
            ) from None

    def is_lost(self, error: Exception) -> bool:
        """Say whether an error is that the scheduler went away."""
        lost = (OSError, self._module.client.FutureCancelledError, asyncio.TimeoutError)
        return isinstance(error, lost)

    def is_killed(self, error: Exception) -> bool:
        """Say whether an error is that workers died, as often as the cluster allows it."""
        return isinstance(error, self._module.scheduler.KilledWorker)

    async def close(self) -> None:
        """Have the scheduler keep nothing of this run, and leave."""
        if self._is_open:
            with suppress(Exception):
                async with asyncio.timeout(START_S):
                    await self._client.run_on_scheduler(entry.forget, self.topic)
        self._leave()
        await asyncio.gather(*self._closing, return_exceptions=True)

    @property
    def _is_open(self) -> bool:
        return self._client is not None and self._client.status == "running"

    def _leave(self) -> None:
        if self._client is None:
            return
        task = asyncio.create_task(_close(self._client))
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)
        self._client = None

    async def _connected(self, patience_s: float) -> Any:
        end = time.monotonic() + patience_s
        while True:
            left = max(1.0, end - time.monotonic())
            # Results come by the scheduler: who executes a run may not reach its workers.
            client = self._module.Client(
                self.address,
                asynchronous=True,
                set_as_default=False,
                direct_to_workers=False,
                timeout=left,
                name=f"prefect-swarm-{self.topic}",
            )
            try:
                await client
                client.subscribe_topic(self.topic, self._receive)
            except (OSError, ValueError) as error:
                await _close(client)
                if isinstance(error, ValueError) or time.monotonic() + _PAUSE_S >= end:
                    raise ClusterError(
                        f"The Dask scheduler at {self.address} can't be reached: {error}.",
                        f"Check that it runs: dask scheduler. Its address is the option executor, "
                        f"dask:{self.address}.",
                    ) from None
                await asyncio.sleep(_PAUSE_S)
            else:
                return client

    def _receive(self, event: tuple[float, Any]) -> None:
        _, text = event
        self._handle(str(text))


async def describe_cluster(executor: str) -> tuple[str, dict[str, str]]:
    """Return the version of this package here, and on each worker of a cluster by its name.

    Raises:
        ClusterError: The scheduler can't be reached.
        InputError: `distributed` is not installed.
    """
    cluster = Cluster(scheduler_of(executor), f"doctor-{uuid4().hex[:12]}", lambda _: None)
    try:
        await cluster.open()
        workers = await cluster.workers()
        found: Mapping[str, object] = await cluster.call(package_version) if workers else {}
    finally:
        await cluster.close()
    return package_version(), {workers[each].name: str(found[each]) for each in found}


async def _close(client: Any) -> None:
    with suppress(Exception):
        async with asyncio.timeout(START_S):
            await client.close()
