"""Where what a model wrote runs: no network, no files of this machine, bounded in everything.

Strict unless the setting `sandbox` says `limits-only`; where strict can't be held nothing runs.
"""

from __future__ import annotations

import asyncio
import logging
from functools import cache
from typing import Literal

from .probe import strongest_backend
from .program import Ended, Limits, Program
from .seccomp import filter_for
from .spawn import Ground, run_on

__all__ = ["Ended", "Kind", "Limits", "Policy", "Program", "kind", "remarks", "run"]

Kind = Literal["bubblewrap", "namespaces"]
Policy = Literal["strict", "limits-only"]

_logger = logging.getLogger("prefect_swarm.sandbox")
_DEFAULT = Limits()


async def run(
    program: Program, limits: Limits = _DEFAULT, *, policy: Policy | None = None
) -> Ended:
    """Run a program; how it fares is in the result, whatever it does.

    `policy` is the setting's where it is None. Cancelling this ends the program and all that it
    started. Raises InputError for a path or command that can't be, SandboxError where the
    sandbox can't be held.
    """
    if (policy or _setting()) == "limits-only":
        _warn_once()
        return await run_on(Ground("limits-only"), program, limits)
    return await run_on(await asyncio.to_thread(strongest_backend), program, limits)


def kind() -> Kind:
    """Return what holds programs on this machine; raises SandboxError if nothing can."""
    return "bubblewrap" if strongest_backend().way == "bubblewrap" else "namespaces"


def remarks() -> list[str]:
    """Return what a person should know about how the sandbox holds on this machine."""
    found = ["Memory is summed every 20 ms by the launcher; no cgroup is used."]
    if strongest_backend().own_user:
        found.append("Programs are this user for the rest of the machine, without privileges.")
    if not filter_for():
        found.append(
            "No filter of system calls is known for this machine: shared memory is not counted."
        )
    return found


def _setting() -> Policy:
    # Not at import: settings are Prefect's, and a command's help needs none of it.
    from ...settings import SwarmSettings

    return SwarmSettings().sandbox


@cache
def _warn_once() -> None:
    _logger.warning(
        "The sandbox is off (sandbox = limits-only): what a model writes can read this user's "
        "files and use the network. Limits on wall time and output still hold, and those on each "
        "process's memory and processor time; that on the number of processes doesn't for root, "
        "nor where this user's other processes can't be seen."
    )
