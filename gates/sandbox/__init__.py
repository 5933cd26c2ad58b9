"""Where what a model wrote runs: no network, no files of this machine, bounded in everything.

Strict unless the setting `sandbox` says `limits-only`; where strict isn't possible nothing runs.
"""

from __future__ import annotations

import asyncio
import logging
from functools import cache
from typing import Literal

from .probe import strongest_backend
from .program import Program, ProgramResult, SandboxLimits
from .seccomp import filter_for
from .spawn import SandboxBackend, run_on

__all__ = [
    "IsolatedKind",
    "Program",
    "ProgramResult",
    "SandboxLimits",
    "SandboxPolicy",
    "backend_kind",
    "remarks",
    "run",
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
    if (policy or _setting()) == "limits-only":
        _warn_once()
        return await run_on(SandboxBackend("limits-only"), program, limits)
    return await run_on(await asyncio.to_thread(strongest_backend), program, limits)


def backend_kind() -> IsolatedKind:
    """Return the backend that isolates programs here; raises SandboxError if none can."""
    return "bubblewrap" if strongest_backend().kind == "bubblewrap" else "namespaces"


def remarks() -> list[str]:
    """Return what a person should know about this machine's sandbox."""
    found = ["Memory is summed every 20 ms by the launcher; no cgroup is used."]
    if strongest_backend().own_user:
        found.append("Programs are this user for the rest of the machine, without privileges.")
    if not filter_for():
        found.append(
            "No filter of system calls is known for this machine: shared memory is not counted."
        )
    return found


def _setting() -> SandboxPolicy:
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
