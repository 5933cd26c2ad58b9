"""Run a trusted tool on a text it only reads: its input is the text, its environment is fixed."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sysconfig
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from subprocess import PIPE, run

from ..errors import GateError

__all__ = ["TOO_DEEP", "ToolOutput", "find_tool", "gave_up", "run_tool", "tool_version"]

TOO_DEEP = "it is nested too deeply to be read"
"""What a text is that made a tool give up."""

_ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": "/nonexistent", "NO_COLOR": "1"}


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """What a tool printed, and its exit code."""

    exit_code: int
    stdout: str
    stderr: str


def gave_up(output: ToolOutput) -> bool:
    """Whether a tool broke down over the text: its stack was too small for it."""
    if output.exit_code in (0, 1):
        return False
    words = output.stderr.lower()
    signs = ("stack overflow", "overflowed its stack", "stack exceeds", "call stack size")
    return output.exit_code == -signal.SIGSEGV or any(sign in words for sign in signs)


@cache
def find_tool(name: str, package: str) -> str:
    """Return the path of an executable: the one beside this interpreter, else the first on PATH.

    Raises:
        GateError: There is none; the fix names the package that has it.
    """
    beside = Path(sysconfig.get_path("scripts"), name)
    found = str(beside) if beside.exists() else shutil.which(name)
    if found is None:
        raise GateError(f"{name} isn't installed.", f"pip install {package}")
    return found


@cache
def tool_version(name: str, package: str) -> str:
    """Return the tool's name and the version that `--version` prints."""
    command = [find_tool(name, package), "--version"]
    completed = run(command, stdout=PIPE, check=False, env=_ENVIRONMENT)  # noqa: S603 - a tool of ours
    words = completed.stdout.decode(errors="replace").split()
    number = next((word for word in words if word.lstrip("v")[:1].isdigit()), "?")
    return f"{name} {number.lstrip('v')}"


async def run_tool(argv: Sequence[str], text: str) -> ToolOutput:
    """Give a tool a text and wait for its end; cancelling kills it and all that it started.

    Args:
        argv: The executable's path and its arguments.
    """
    # A start that is cancelled half-way would leave a process that is never killed.
    starting = asyncio.ensure_future(_start(argv))
    try:
        process = await asyncio.shield(starting)
        stdout, stderr = await process.communicate(text.encode("utf-8", "replace"))
    except asyncio.CancelledError:
        process = await starting
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
        raise
    return ToolOutput(
        process.returncode or 0,
        stdout.decode("utf-8", "replace"),
        stderr.decode("utf-8", "replace"),
    )


async def _start(argv: Sequence[str]) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *argv,
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
        env=_ENVIRONMENT,
        cwd="/",
        start_new_session=True,
    )
