"""A tool that is cancelled leaves nothing behind."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest
from prefect_swarm.gates.tool import run_tool


def test_what_a_cancelled_tool_had_started_ends_with_it(tmp_path: Path) -> None:
    pipe = tmp_path / "held"
    os.mkfifo(pipe)

    async def cancelled() -> bytes:
        running = asyncio.create_task(run_tool(["/bin/sh", "-c", f"sleep 600 > {pipe} & wait"], ""))
        # Opening waits until the child holds the other end; reading ends once nobody does.
        with await asyncio.to_thread(pipe.open, "rb") as held:
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            return await asyncio.wait_for(asyncio.to_thread(held.read), 60)

    assert asyncio.run(cancelled()) == b""
