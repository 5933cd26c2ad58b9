"""Forks a process for each command that comes in, so that starting one costs no imports."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import traceback
from collections.abc import Awaitable, Callable
from typing import Any

__all__ = ["fork_each", "say"]

Work = Callable[[dict[str, Any]], Awaitable[None]]


def say(text: str) -> None:
    """Write a line that is whole, whenever the process is killed."""
    os.write(1, f"{text}\n".encode())


def fork_each(work: Work) -> None:
    """Fork a process for each line of JSON on standard input, one at a time.

    The process says what happens in it, line by line, from `pid N` on; `ended CODE` is the last
    line.
    """
    say("ready")
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            os._exit(_child(work, json.loads(line)))
        _, status = os.waitpid(child, 0)
        say(f"ended {os.waitstatus_to_exitcode(status)}")


def _child(work: Work, command: dict[str, Any]) -> int:
    say(f"pid {os.getpid()}")

    async def do() -> None:
        await work(command)

    try:
        asyncio.run(do())
    except BaseException:  # noqa: BLE001 - whoever reads the lines decides what it means
        traceback.print_exc()
        return 1
    return 0
