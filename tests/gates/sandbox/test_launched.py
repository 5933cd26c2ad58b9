"""A launcher is gone, and its streams are closed, however its event loop ends."""

from __future__ import annotations

import asyncio

from prefect_swarm.gates.sandbox.launched import launch


def test_an_end_that_is_cancelled_leaves_no_process_and_no_stream() -> None:
    launched = launch()

    async def leave() -> None:
        ending = asyncio.create_task(launched.end())
        await asyncio.sleep(0)
        ending.cancel()

    asyncio.run(leave())
    assert not launched.runs
