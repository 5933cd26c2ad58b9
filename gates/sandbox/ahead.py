"""A program that is started before it is needed, so that its start takes no time then.

Each is used once. It runs nothing of anybody's until it is used, it ends with this process, and
before it is used it is made sure that it is what would be started now.
"""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass

from ...errors import SandboxError
from .program import Program, SandboxLimits
from .spawn import SandboxBackend, StartedProgram, start, waiting_config

__all__ = ["kept_ready", "start_next", "take"]

# Each holds some 50 MB.
_MOST = 2
_lock = threading.Lock()
_waiting: list[StartedProgram] = []


@dataclass(slots=True)
class _Wanted:
    """What a thread wants to have ready, and who has asked for it."""

    backend: SandboxBackend
    program: Program
    limits: SandboxLimits
    users: int = 1
    started: StartedProgram | None = None


# The kernel ends a launcher with the thread that started it, so each thread has its own.
_of_thread = threading.local()


@contextmanager
def kept_ready(backend: SandboxBackend, program: Program, limits: SandboxLimits) -> Generator[None]:
    """Start a program now, and another as soon as that has been used; at the end none waits."""
    wanted = _wanted()
    if wanted is None:
        wanted = _of_thread.wanted = _Wanted(backend, program, limits)
    else:
        wanted.users += 1
    start_next()
    try:
        yield
    finally:
        wanted.users -= 1
        if wanted.users == 0:
            _of_thread.wanted = None
            if (left := _taken(wanted)) is not None:
                left.launched.end_now()


def take(backend: SandboxBackend, program: Program, limits: SandboxLimits) -> StartedProgram | None:
    """Return the program that waits if it is this one, or None; it is the caller's from now on."""
    wanted = _wanted()
    if wanted is None or (found := _taken(wanted)) is None:
        return None
    # Packages may have been installed since, and the launcher may have been killed.
    if found.launched.runs and found.config == waiting_config(backend, program, limits):
        return found
    found.launched.end_now()
    return None


def start_next() -> None:
    """Start what this thread wants to have ready, if it isn't."""
    wanted = _wanted()
    if wanted is None or wanted.started is not None:
        return
    with _lock:
        _waiting[:] = [started for started in _waiting if started.launched.runs]
        if len(_waiting) >= _MOST:
            return
        try:
            wanted.started = start(wanted.backend, wanted.program, wanted.limits)
        except SandboxError:
            return  # Whoever needs it hears of that.
        _waiting.append(wanted.started)


def _wanted() -> _Wanted | None:
    found: _Wanted | None = getattr(_of_thread, "wanted", None)
    return found


def _taken(wanted: _Wanted) -> StartedProgram | None:
    found, wanted.started = wanted.started, None
    if found is not None:
        with _lock:
            _waiting[:] = [started for started in _waiting if started is not found]
    return found
