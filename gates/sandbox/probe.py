"""The probe for a sandbox backend that works on this machine, and for its bounds."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import platform
import shutil
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import cast

from ...errors import SandboxError
from ...files import OWNER_ONLY, make_folder
from .confinement import filter_for, find_visible_files
from .launched import LIMITS_HINT, Program, SandboxLimits
from .spawn import SandboxBackend, run_on

__all__ = [
    "broken_bounds",
    "candidates",
    "clear_probe_cache",
    "delegated_group",
    "known_to_hold",
    "note_that_they_hold",
    "strongest_backend",
    "verify_backend",
]


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


# What a group has used of the processor the kernel says without a controller.
_WANTED = frozenset({"memory", "pids"})
_MARKS = ("user.delegate", "trusted.delegate")
_OWN = "prefect-swarm-processes"


def delegated_group(
    memberships: Path = Path("/proc/self/cgroup"), mounts: Path = Path("/proc/self/mountinfo")
) -> Path | None:
    """Return the group below which the sandboxes can have theirs, with memory and pids bounded.

    It is an ancestor of this process's own group, or that one: then its processes move into a
    group of their own below it, since the kernel bounds no group that also has processes.
    """
    own, top = _place(memberships, mounts)
    if own is None or top is None:
        return None
    for folder in own.parents:
        if not folder.is_relative_to(top):
            break
        if _is_ours(folder) and _has_controllers(folder):
            return folder
    if _is_ours(own) and _words(own / "cgroup.controllers") >= _WANTED and _make_room(own):
        return own
    return None


def _place(memberships: Path, mounts: Path) -> tuple[Path | None, Path | None]:
    """Return the folders of this process's group and of the uppermost that can be seen."""
    with suppress(OSError, StopIteration, ValueError, IndexError):
        lines = memberships.read_text().splitlines()
        path = next(line[3:] for line in lines if line.startswith("0::"))
        for line in mounts.read_text().splitlines():
            before, _, after = line.partition(" - ")
            root, point = before.split()[3:5]
            if after.split()[0] == "cgroup2" and Path(path).is_relative_to(root):
                return Path(point) / Path(path).relative_to(root), Path(point)
    return None, None


def _is_ours(folder: Path) -> bool:
    files = (folder, folder / "cgroup.procs", folder / "cgroup.subtree_control")
    if not all(os.access(file, os.W_OK) for file in files):
        return False
    # Root may write everywhere; what is its own to arrange carries systemd's mark, or is the
    # uppermost group that a container sees, which the machine's own root doesn't look like.
    return os.geteuid() != 0 or _is_marked(folder) or _is_containers(folder)


def _is_marked(folder: Path) -> bool:
    for mark in _MARKS:
        with suppress(OSError):
            if os.getxattr(folder, mark) == b"1":
                return True
    return False


def _is_containers(folder: Path) -> bool:
    return os.path.ismount(folder) and (folder / "cgroup.events").exists()


def _has_controllers(folder: Path) -> bool:
    control = folder / "cgroup.subtree_control"
    if not _words(folder / "cgroup.controllers") >= _WANTED:
        return False
    if missing := _WANTED - _words(control):
        with suppress(OSError):
            control.write_text(" ".join(f"+{name}" for name in sorted(missing)))
    return _words(control) >= _WANTED


def _make_room(own: Path) -> bool:
    """Move the processes of a group one down, and bound its groups from now on."""
    below = own / _OWN
    with suppress(OSError):
        below.mkdir(exist_ok=True)
        for _ in range(5):  # Others may start meanwhile.
            for pid in _words(own / "cgroup.procs"):
                with suppress(ProcessLookupError):
                    (below / "cgroup.procs").write_text(pid)
            if _has_controllers(own):
                return True
    return False


def _words(file: Path) -> frozenset[str]:
    with suppress(OSError):
        return frozenset(file.read_text().split())
    return frozenset()


# CAP_SETGID, CAP_SETUID and CAP_SYS_ADMIN: enough to make a sandbox without a user namespace first.
_ENOUGH = 1 << 6 | 1 << 7 | 1 << 21
_FIX = (
    "Install bubblewrap (Debian: apt install bubblewrap), or allow user namespaces: "
    "sysctl user.max_user_namespaces above 0, and on Ubuntu "
    "sysctl kernel.apparmor_restrict_unprivileged_userns=0. In a container, run it with a "
    "seccomp profile that allows unshare and mount. Setting "
    "PREFECT_INTEGRATIONS_SWARM_SANDBOX=limits-only does without, at your own risk."
)
_ELSEWHERE = "Run the flow on Linux, in a container for one."
# Runs inside: what must be true whichever backend made the sandbox.
_PROBE = """
import json, os, signal, socket
VISIBLE = set(os.listdir("/")) - set(SHOWN)
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
def refused(family):
    try:
        with socket.socket(family, socket.SOCK_STREAM) as opened:
            opened.connect(("127.0.0.1", 1))
    except OSError as problem:
        return problem.errno != 111
def bounded():
    # A few more than the limit, and no more than that: this must do no harm where it fails.
    try:
        for _ in range(8):
            if os.fork() == 0:
                signal.pause()
    except OSError:
        return True
    return False
def refuses(attempt):
    try:
        attempt()
    except OSError:
        return True
    return False
print(json.dumps({
    "a view of its own processes alone": sum(map(str.isdecimal, os.listdir("/proc"))) < 3,
    "no new privileges": int(status["NoNewPrivs"]) == 1,
    "no capabilities": not any(int(status[name], 16) for name in ("CapPrm", "CapEff", "CapBnd")),
    "no network": refused(socket.AF_INET) is True,
    "only what is shown": not {"boot", "home", "mnt", "opt", "srv", "sys", "var"} & VISIBLE,
    "a bound on processes": bounded(),
    "devices that can't be changed": refuses(lambda: os.utime("/dev/null")),
    "a /proc that can't be changed": refuses(lambda: open("/proc/self/oom_score_adj", "r+")),
    "filter": int(status["Seccomp"]) == 2 or not FILTER,
}))
"""


def candidates() -> list[SandboxBackend]:
    """Return the backends to try on this machine, best first."""
    own_user = not _privileged()
    bubblewrap = shutil.which("bwrap")
    group = str(delegated_group() or "")
    found = [SandboxBackend("bubblewrap", own_user, bubblewrap, group)] if bubblewrap else []
    return [*found, SandboxBackend("namespaces", own_user, group=group)]


def _privileged() -> bool:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("CapEff:"):
            return int(line.split()[1], 16) & _ENOUGH == _ENOUGH
    return False


async def verify_backend(backend: SandboxBackend, notes: Path | None = None) -> None:
    """Run probe programs; raises SandboxError if they could do what they must not.

    Whether the bounds hold that take longer to try is noted in the folder `notes`, if there is one.
    """
    shown = [target.split("/")[1] for _, target in find_visible_files().binds]
    code = f"FILTER = {bool(filter_for())}\nSHOWN = {shown}\n{_PROBE}"
    limits = SandboxLimits(cpu_s=20, wall_s=60, processes=4)
    program = Program(("python", "-I", "-S", "-c", code))
    known = notes is not None and known_to_hold(backend, notes)
    bounds = asyncio.create_task(asyncio.sleep(0, []) if known else broken_bounds(backend))
    try:
        result = await run_on(backend, program, limits)
        if result.exit_code != 0:
            why = result.stderr.strip() or f"it was ended by signal {result.signal}"
            raise SandboxError(
                f"A sandbox by {backend.kind} could not run Python: {why}", LIMITS_HINT
            )
        answers = cast("dict[str, bool]", json.loads(result.stdout))
        missing = [name for name, answer in answers.items() if not answer] + await bounds
    finally:
        bounds.cancel()
        # What it raised is taken too: else asyncio writes it to standard error.
        await asyncio.gather(bounds, return_exceptions=True)
    if missing:
        raise SandboxError(f"A sandbox by {backend.kind} does not isolate: {', '.join(missing)}.")
    if notes is not None and not known:
        note_that_they_hold(backend, notes)


@cache
def _probe_once() -> SandboxBackend | SandboxError:
    if sys.platform != "linux":
        return SandboxError("The sandbox needs Linux.", _ELSEWHERE)
    problems: list[str] = []
    fixes: list[str] = []
    for backend in candidates():
        try:
            # A thread of its own has no running loop.
            asyncio.run(verify_backend(backend, _notes()))
        except SandboxError as problem:
            problems.append(f"{backend.kind}: {problem.problem}")
            fixes.append(problem.fix)
        else:
            return backend
    # Another sandbox is of no use where what a process may have is too little for any.
    fix = LIMITS_HINT if LIMITS_HINT in fixes else _FIX
    return SandboxError(f"This machine can't hold a sandbox. {' '.join(problems)}", fix)


def _notes() -> Path:
    # Not at import: settings are Prefect's, and a command's help needs none of it.
    from ...settings import home

    return home() / "sandbox"


_lock = threading.Lock()


def clear_probe_cache() -> None:
    """Probe again at the next use."""
    _probe_once.cache_clear()


def strongest_backend() -> SandboxBackend:
    """Return the best backend that works, probed once per process; raises SandboxError if none."""
    found: list[SandboxBackend | SandboxError] = []
    with _lock:
        thread = threading.Thread(target=lambda: found.append(_probe_once()))
        try:
            thread.start()
        except RuntimeError:
            raise SandboxError(
                "The sandbox can't be tried: no thread can be started.", LIMITS_HINT
            ) from None
        thread.join()
    if isinstance(found[0], SandboxError):
        raise found[0]
    return found[0]
