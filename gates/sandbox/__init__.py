"""The sandbox that runs what a model wrote: no network, no files of this machine, all bounded.

Strict unless the setting `sandbox` says `limits-only`; where strict isn't possible nothing runs.
On this side are `probe`, `spawn` and `confinement`; `launcher` starts it, `guest` runs inside.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from typing import Literal

from ...errors import SandboxError
from . import spawn
from .confinement import filter_for
from .launched import Program, ProgramResult, SandboxLimits, refuse_files
from .probe import strongest_backend
from .spawn import SandboxBackend, run_on, use

__all__ = [
    "IsolatedKind",
    "Program",
    "ProgramResult",
    "SandboxLimits",
    "SandboxPolicy",
    "backend_kind",
    "current_policy",
    "prestarted",
    "refuse_files",
    "remarks",
    "run",
    "run_prestarted",
]

IsolatedKind = Literal["bubblewrap", "namespaces"]
SandboxPolicy = Literal["strict", "limits-only"]

_logger = logging.getLogger("prefect_swarm.sandbox")
_DEFAULT = SandboxLimits()


async def run(
    program: Program, limits: SandboxLimits = _DEFAULT, *, policy: SandboxPolicy | None = None
) -> ProgramResult:
    """Run a program; how it fares is in the result, whatever it does.

    `policy` is the setting's where it is None. Cancelling this ends the program and all that it
    started. Raises InputError for an invalid path or command, SandboxError where the
    sandbox can't be made.
    """
    if (policy or current_policy()) == "limits-only":
        _warn_once()
        return await run_on(SandboxBackend("limits-only"), program, limits)
    return await run_on(await asyncio.to_thread(strongest_backend), program, limits)


@contextmanager
def prestarted(program: Program, limits: SandboxLimits) -> Generator[None]:
    """Have a program wait in a strict sandbox, and another once `run_prestarted` has used it.

    It must read its input before it does anything that needs a limit. `limits` are those of its
    start. Where there is no sandbox nothing waits. It is for this thread alone.
    """
    try:
        backend = strongest_backend()
    except SandboxError:
        yield
        return
    with spawn.prestarted(backend, program, limits):
        yield


async def run_prestarted(
    program: Program, limits: SandboxLimits, stdin: bytes, within: SandboxLimits
) -> ProgramResult | None:
    """Run the program that waits, as `run` does, with this input; None if this one doesn't wait.

    `within` are its limits on time and output; the others it was started with.
    """
    backend = await asyncio.to_thread(strongest_backend)
    if (started := spawn.take(backend, program, limits)) is None:
        return None
    try:
        return await use(started, stdin, within)
    finally:
        spawn.start_next()


def backend_kind() -> IsolatedKind:
    """Return the backend that isolates programs here; raises SandboxError if none can."""
    return "bubblewrap" if strongest_backend().kind == "bubblewrap" else "namespaces"


def remarks() -> list[str]:
    """Return what a person should know about this machine's sandbox."""
    group = strongest_backend().group
    found = [
        f"Memory, processes and time are bounded by a cgroup below {group}."
        if group
        else "Memory and time are summed about every 20 ms: no cgroup is delegated to this user."
    ]
    if strongest_backend().own_user:
        found.append("Programs are this user for the rest of the machine, without privileges.")
    if not filter_for():
        found.append(
            "No filter of system calls is known for this machine: shared memory is not counted."
        )
    return found


def current_policy() -> SandboxPolicy:
    """Return what the setting says."""
    # Not at import: settings are Prefect's, and a command's help needs none of it.
    from ...settings import SwarmSettings

    return SwarmSettings().sandbox


@cache
def _warn_once() -> None:
    _logger.warning(
        "The sandbox is off (sandbox = limits-only): what a model writes can read this user's "
        "files and use the network. Limits on wall time and output still apply, and those on each "
        "process's memory and processor time; that on the number of processes doesn't for root, "
        "nor where this user's other processes can't be seen."
    )
