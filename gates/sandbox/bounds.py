"""Whether the bounds hold where they are hard to hold: programs that pass them in hidden ways.

Each takes somewhat more than it may, and no more than that: where it isn't ended it does no harm.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import platform
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ...files import OWNER_ONLY, make_folder
from .program import Program, SandboxLimits
from .seccomp import filter_for
from .spawn import SandboxBackend, run_on

__all__ = ["broken_bounds", "known_to_hold", "note_that_they_hold"]

_HERE = Path(__file__).parent
_BOOT = Path("/proc/sys/kernel/random/boot_id")

_MIB = 1 << 20
# Where it is none of these the kernel's numbers are the common ones.
_EXIT = {"x86_64": 60}.get(platform.machine(), 93)
_LIMITS = SandboxLimits(
    cpu_s=20,
    wall_s=60,
    memory_bytes=64 * _MIB,
    address_bytes=1024 * _MIB,
    processes=8,
    open_files=600,
)


@dataclass(frozen=True, slots=True)
class _Bound:
    """A bound, a program that passes it, and the limit that is to end that."""

    name: str
    code: str
    limits: SandboxLimits
    exceeded: str = "memory"


_BOUNDS = (
    _Bound(
        "the memory of a process whose first thread has ended",
        f"""
import ctypes, os, select, threading
def take():
    while ") Z " not in open(f"/proc/self/task/{{os.getpid()}}/stat").read():
        pass
    kept = bytearray(b"x" * {96 * _MIB})
    select.select([], [], [], 10)
    os._exit(0)
threading.Thread(target=take).start()
ctypes.CDLL(None).syscall({_EXIT}, 0)
""",
        _LIMITS,
    ),
    _Bound(
        "the memory of sockets",
        """
import select, socket
kept = []
for _ in range(250):
    for end in (pair := socket.socketpair()):
        kept.append(end)
        end.setblocking(False)
        try:
            while True:
                end.send(bytes(1 << 16))
        except OSError:
            pass
select.select([], [], [], 10)
""",
        _LIMITS,
    ),
    _Bound(
        "the time of processes that are not waited for",
        """
import os, signal, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
for _ in range(400):
    if os.fork() == 0:
        while time.process_time() < 0.02:
            pass
        os._exit(0)
    try:
        os.wait()
    except OSError:
        pass
""",
        SandboxLimits(cpu_s=0.1, wall_s=60, processes=8),
        "cpu",
    ),
)


async def broken_bounds(backend: SandboxBackend) -> list[str]:
    """Return the names of the bounds that this backend doesn't hold here."""
    held = await asyncio.gather(*(_holds(backend, bound) for bound in _BOUNDS))
    return [bound.name for bound, holds in zip(_BOUNDS, held, strict=True) if not holds]


def known_to_hold(backend: SandboxBackend, notes: Path) -> bool:
    """Whether they were found to hold since this machine was started: it takes a second to try."""
    name = _name_of(backend)
    return bool(name) and (notes / name).exists()


def note_that_they_hold(backend: SandboxBackend, notes: Path) -> None:
    """Leave a note for the next process, if that can be written."""
    if name := _name_of(backend):
        with suppress(OSError):
            make_folder(notes)
            (notes / name).touch(OWNER_ONLY)


def _name_of(backend: SandboxBackend) -> str:
    """Return a digest of all that decides whether they hold; "" if that isn't known."""
    try:
        boot = _BOOT.read_text()
        code = [path.read_bytes() for path in sorted((_HERE / "launcher").glob("*.py"))]
        tool = os.stat(backend.bubblewrap).st_mtime if backend.bubblewrap else 0
    except OSError:
        return ""
    facts = (boot, platform.release(), os.geteuid(), backend, tool, _BOUNDS, filter_for())
    return hashlib.sha256(repr(facts).encode() + b"".join(code)).hexdigest()[:32]


async def _holds(backend: SandboxBackend, bound: _Bound) -> bool:
    program = Program(("python", "-I", "-S", "-c", bound.code))
    return (await run_on(backend, program, bound.limits)).exceeded == bound.exceeded
