"""The process of a server: how it is started, and how it is ended for certain."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

__all__ = ["CHUNK", "end_child", "start_child"]

CHUNK = 64 * 1024
"""Bytes that are read at once."""
_INHERITED = ("HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "LANG", "LC_ALL", "TMPDIR", "TZ")
"""What each server may know of ours: its configuration gives the rest."""
_LEAVE_S, _TERM_S, _KILL_S = 2.0, 1.0, 2.0


async def start_child(
    command: Sequence[str], given: Mapping[str, str], folder: str | None
) -> Process:
    """Start a process with three pipes, in a group of its own; it ends with this process on Linux.

    Raises:
        OSError: It can't be started.
    """
    own = {name: value for name in _INHERITED if (value := os.environ.get(name)) is not None}
    return await asyncio.create_subprocess_exec(
        *_with_parent(command),
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
        env={**own, **given},
        cwd=folder,
        # Ctrl-C on the terminal is this process's to hear, which ends its servers in order.
        start_new_session=True,
    )


async def end_child(process: Process) -> None:
    """Close its standard input, and end it and what it started if it stays; takes 5 s at most."""
    if process.stdin is not None:
        process.stdin.close()
    for how, seconds in ((None, _LEAVE_S), (signal.SIGTERM, _TERM_S), (signal.SIGKILL, _KILL_S)):
        if how is not None:
            # Its group is there as long as anything of it runs, such as what it started.
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, how)
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await process.wait()
                return


def _with_parent(command: Sequence[str]) -> Sequence[str]:
    if sys.platform != "linux":
        return command
    script = Path(__file__).with_name("with_parent.py")
    return (sys.executable, "-I", "-S", str(script), str(os.getpid()), *command)
