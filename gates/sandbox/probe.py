"""Which sandbox backend works on this machine, found out by running a probe program in it."""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
import threading
from functools import cache
from pathlib import Path
from typing import cast

from ...errors import SandboxError
from .bounds import broken_bounds, known_to_hold, note_that_they_hold
from .delegation import delegated_group
from .launched import LIMITS_HINT
from .program import Program, SandboxLimits
from .seccomp import filter_for
from .spawn import SandboxBackend, run_on
from .visible_files import find_visible_files

__all__ = ["candidates", "clear_probe_cache", "strongest_backend", "verify_backend"]

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
        await asyncio.wait([bounds])
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
