"""Virtual seconds pass only while nothing else goes on, and always in the same order."""

from __future__ import annotations

import asyncio

from prefect_swarm.metrics.clock import clock_of_run, run_time
from wide_search.virtual_time import EPOCH, VirtualClock, run_in_virtual_time


def test_those_who_sleep_are_woken_in_order_and_runs_go_by_the_clock() -> None:
    clock, woken = VirtualClock(), list[tuple[str, float]]()

    async def sleep(name: str, seconds: float) -> None:
        await clock.sleep(seconds, name)
        woken.append((name, run_time() - EPOCH))

    async def main() -> None:
        with clock_of_run():
            await asyncio.gather(sleep("c", 3.0), sleep("b", 1.0), sleep("a", 1.0))

    run_in_virtual_time(clock, main)
    assert woken == [("a", 1.0), ("b", 1.0), ("c", 3.0)]


def test_no_time_passes_while_a_thread_is_at_work() -> None:
    clock, moments = VirtualClock(), list[float]()

    async def work() -> None:
        for _ in range(20):
            await asyncio.to_thread(sum, range(10_000))
        moments.append(clock.now - EPOCH)

    async def main() -> None:
        await asyncio.gather(clock.sleep(5.0, "sleeper"), work())

    run_in_virtual_time(clock, main)
    assert moments == [0.0]
    assert clock.now == EPOCH + 5.0


def test_who_is_cancelled_is_not_waited_for() -> None:
    clock = VirtualClock()

    async def main() -> None:
        sleeper = asyncio.create_task(clock.sleep(100.0, "sleeper"))
        await clock.sleep(1.0, "other")
        sleeper.cancel()
        await clock.sleep(1.0, "other")

    run_in_virtual_time(clock, main)
    assert clock.now == EPOCH + 2.0
