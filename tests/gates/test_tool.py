"""A tool that is cancelled leaves nothing behind."""

from __future__ import annotations

import asyncio
import os
import select
from pathlib import Path

import pytest
from prefect_swarm.gates.source import ToolOutput, gave_up, run_tool


def test_what_a_cancelled_tool_had_started_ends_with_it(tmp_path: Path) -> None:
    pipe = tmp_path / "held"
    os.mkfifo(pipe)
    # The child says that it is there; then reading ends once nobody holds the other end.
    held = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    child = f"{{ echo there; exec sleep 600; }} > {pipe} & wait"

    async def cancelled() -> None:
        running = asyncio.create_task(run_tool(["/bin/sh", "-c", child], ""))
        assert await asyncio.to_thread(readable, held)
        assert os.read(held, 100) == b"there\n"
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(cancelled())
    assert readable(held)
    assert os.read(held, 100) == b""
    os.close(held)


def test_a_tool_that_is_cancelled_while_it_starts_ends_too(tmp_path: Path) -> None:
    pipe = tmp_path / "held"
    os.mkfifo(pipe)
    held = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    ours = os.open(pipe, os.O_WRONLY)

    async def cancelled() -> None:
        running = asyncio.create_task(run_tool(["/bin/sh", "-c", f"sleep 600 > {pipe} & wait"], ""))
        await asyncio.sleep(0)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(cancelled())
    os.close(ours)
    assert readable(held)
    assert os.read(held, 100) == b""
    os.close(held)


def readable(descriptor: int) -> bool:
    """Wait until there is something to read, or nobody to write any more; False after a minute."""
    return bool(select.select([descriptor], [], [], 60)[0])


@pytest.mark.parametrize(
    ("exit_code", "stderr", "gave"),
    [
        (-6, "thread 'main' has overflowed its stack\nfatal runtime error: stack overflow", True),
        (2, "runtime: goroutine stack exceeds 1000000000-byte limit", True),
        (-11, "", True),
        (-9, "", False),
        (-6, "aborted", False),
        (2, "unknown option", False),
        (0, "stack overflow", False),
    ],
)
def test_a_tool_gave_up_where_its_stack_was_too_small(
    exit_code: int, stderr: str, gave: bool
) -> None:
    assert gave_up(ToolOutput(exit_code, "", stderr)) is gave
