"""A virtual clock for the real runtime: seconds pass when, and only when, nothing else goes on.

The runtime goes on as ever, on asyncio and with a real Prefect server. Models and tools wait by
`VirtualClock.sleep`. As soon as the event loop has nothing ready, and no thread and no request to
the Prefect server is under way, the clock is set to the moment at which the next of them is due.
So what the machine and the server need counts as no time, and results repeat exactly.
"""

from __future__ import annotations

import asyncio
import heapq
import selectors
from collections.abc import Callable, Coroutine, Generator
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import Any, TypeVar
from unittest.mock import patch

import anyio.to_thread
import httpx
from prefect_swarm.metrics import clock as run_clock

__all__ = ["VirtualClock", "run_at_once", "run_in_virtual_time"]

EPOCH = 1_800_000_000.0
"""When a run begins, in seconds since the Unix epoch."""


class VirtualClock:
    """Virtual seconds, and who waits for which moment.

    Attributes:
        now: The time, in seconds since the Unix epoch.
        under_way: How many threads and requests to a server are under way.
    """

    def __init__(self) -> None:
        self.now = EPOCH
        self.under_way = 0
        self._waiting: list[tuple[float, str, int, asyncio.Future[None]]] = []
        self._count = 0

    async def sleep(self, seconds: float, name: str) -> None:
        """Wait so many virtual seconds. Of those that are due at one moment, `name` orders."""
        self._count += 1
        woken = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (self.now + seconds, name, self._count, woken))
        await woken

    def advance(self) -> bool:
        """Go to the next moment at which somebody is due, and wake one; whether there was one."""
        while self._waiting:
            at, _, _, woken = heapq.heappop(self._waiting)
            if not woken.done():
                self.now = max(self.now, at)
                woken.set_result(None)
                return True
        return False

    @contextmanager
    def work(self) -> Generator[None]:
        """Keep the time from passing while something is under way outside the loop."""
        self.under_way += 1
        try:
            yield
        finally:
            self.under_way -= 1


class _Selector(selectors.DefaultSelector):
    """Advances the clock where the loop would have waited with nothing under way."""

    def __init__(self, clock: VirtualClock) -> None:
        super().__init__()
        self._clock = clock

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Wait as ever, but for moments of the clock."""
        if timeout is not None and timeout <= 0:
            return super().select(timeout)
        ready = super().select(0)
        if ready or (not self._clock.under_way and self._clock.advance()):
            return ready
        return super().select(timeout)


class _Loop(asyncio.SelectorEventLoop):
    """An event loop that counts the threads that it waits for."""

    def __init__(self, clock: VirtualClock) -> None:
        super().__init__(_Selector(clock))
        self._clock = clock

    def run_in_executor(
        self, executor: Executor | None, func: Callable[..., Any], *args: Any
    ) -> asyncio.Future[Any]:
        """Run a function in a thread, during which no virtual time passes."""
        self._clock.under_way += 1
        future = super().run_in_executor(executor, func, *args)
        future.add_done_callback(self._ended)
        return future

    def _ended(self, _: asyncio.Future[Any]) -> None:
        self._clock.under_way -= 1


T = TypeVar("T")


def run_in_virtual_time(clock: VirtualClock, main: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run a coroutine on a loop of its own, with `run_time` and all who sleep by the clock."""
    with _patched(clock), asyncio.Runner(loop_factory=lambda: _Loop(clock)) as runner:
        return runner.run(main())


@contextmanager
def _patched(clock: VirtualClock) -> Generator[None]:
    """Have runs go by the clock, and have it wait for what goes on outside the loop."""
    send, run_sync = httpx.AsyncClient.send, anyio.to_thread.run_sync

    async def send_counted(self: httpx.AsyncClient, *args: Any, **kwargs: Any) -> httpx.Response:
        with clock.work():
            return await send(self, *args, **kwargs)

    async def run_sync_counted(*args: Any, **kwargs: Any) -> Any:
        with clock.work():
            return await run_sync(*args, **kwargs)

    def now(_: run_clock.RunClock) -> float:
        return clock.now

    with (
        patch.object(run_clock, "_wall", lambda: clock.now),
        patch.object(run_clock.RunClock, "now", now),
        patch.object(httpx.AsyncClient, "send", send_counted),
        patch.object(anyio.to_thread, "run_sync", run_sync_counted),
    ):
        yield


def run_at_once(work: Coroutine[Any, Any, T]) -> T:
    """Return what a coroutine that waits for nothing returns; an event loop would take longer.

    Raises:
        RuntimeError: It waits for something.
    """
    try:
        work.send(None)
    except StopIteration as end:
        return end.value
    raise RuntimeError("It waits for something.")
