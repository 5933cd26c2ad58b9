"""The parent's side of a run: has the launcher start it, feeds it, bounds what comes back."""

from __future__ import annotations

import asyncio
import io
import os
import tempfile
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from ...errors import InputError, SandboxError
from .confinement import (
    OWN,
    WORK,
    VisibleFiles,
    environment,
    filter_for,
    find_visible_files,
    interpreter,
    is_covered,
)
from .launched import (
    LIMITS_HINT,
    Launched,
    Program,
    ProgramResult,
    SandboxLimits,
    launch,
    refuse_files,
)
from .launcher.wire import Allowance, BackendKind, Config, LauncherReport, pack, unpack_from

__all__ = [
    "SandboxBackend",
    "StartedProgram",
    "place_of",
    "prestarted",
    "run_on",
    "start",
    "start_next",
    "take",
    "use",
    "waiting_config",
    "with_shown",
]


# Who the program is to the machine where we are root: the user that owns nothing.
_NOBODY = 65534
# What the launcher gets beyond the program's time, for its start and its end.
_GRACE_S = 60.0
# How errors begin that say that this process may have too little: EMFILE, and fork's EAGAIN.
_OUT_OF = ("OSError: [Errno 24]", "BlockingIOError: [Errno 11]", "MemoryError")


@dataclass(frozen=True, slots=True)
class SandboxBackend:
    """How programs are isolated here.

    `own_user` is whether a user namespace must come first; `group` is the folder of the control
    group below which each may have one of its own, "" where none is delegated.
    """

    kind: BackendKind
    own_user: bool = False
    bubblewrap: str = ""
    group: str = ""


@dataclass(slots=True)
class _Output:
    """What the program wrote so far; `room` bytes more may come."""

    room: int
    streams: dict[str, bytearray] = field(default_factory=dict[str, bytearray])
    overflowed: bool = False

    def take(self, name: str, chunk: bytes) -> bool:
        """Add what fits; False if something did not."""
        fitting = chunk[: self.room]
        self.streams.setdefault(name, bytearray()).extend(fitting)
        self.room -= len(fitting)
        if len(fitting) < len(chunk):
            self.overflowed = True
        return not self.overflowed

    def text(self, name: str) -> str:
        return self.streams.get(name, b"").decode("utf-8", "replace")


async def run_on(backend: SandboxBackend, program: Program, limits: SandboxLimits) -> ProgramResult:
    """Run a program by the given backend; raises InputError, and SandboxError if that fails.

    When this is cancelled, the program and all that it started is gone before it returns.
    """
    _refuse(program, limits)
    with _folder(backend) as work:
        config = _config(backend, program, limits, work)
        blobs = [program.files[name] for name in config["files"]]
        return await _converse(launch(), pack(config, blobs), program.stdin, limits)


@dataclass(frozen=True, slots=True)
class StartedProgram:
    """A program that was started ahead of its use, and waits; no limit counts meanwhile."""

    config: Config
    launched: Launched


def start(backend: SandboxBackend, program: Program, limits: SandboxLimits) -> StartedProgram:
    """Start a program that reads its input before it does anything that needs a limit."""
    config = waiting_config(backend, program, limits)
    blobs = [program.files[name] for name in config["files"]]
    return StartedProgram(config, launch(pack(config, blobs)))


def waiting_config(backend: SandboxBackend, program: Program, limits: SandboxLimits) -> Config:
    """Return what `start` would start now: what was started earlier may not be that any more."""
    _refuse(program, limits)
    return {**_config(backend, program, limits, WORK), "waits": True}


async def use(started: StartedProgram, stdin: bytes, limits: SandboxLimits) -> ProgramResult:
    """Give a waiting program its input and its time, and see it to its end, as `run_on` does."""
    allowance = Allowance(cpu_s=limits.cpu_s, wall_s=limits.wall_s)
    return await _converse(started.launched, pack(allowance), stdin, limits)


@contextmanager
def _folder(backend: SandboxBackend) -> Generator[str]:
    """Give the work folder's path; only without namespaces is it on a disk, until the end."""
    if backend.kind != "limits-only":
        yield WORK
        return
    with tempfile.TemporaryDirectory(prefix="prefect-swarm-", ignore_cleanup_errors=True) as path:
        yield path


def _refuse(program: Program, limits: SandboxLimits) -> None:
    if not program.argv or any("\0" in word for word in program.argv):
        raise InputError("A sandboxed program needs a command without NUL characters.")
    size = sum(map(len, program.files.values()))
    refuse_files([*program.files, *program.keep], size, limits.disk_bytes)


def _config(backend: SandboxBackend, program: Program, limits: SandboxLimits, work: str) -> Config:
    name, *rest = program.argv
    loose = backend.kind == "limits-only"
    python = interpreter() if loose else place_of(interpreter(), program)
    shown = VisibleFiles([], [], [], []) if loose else with_shown(find_visible_files(), program)
    return Config(
        kind=backend.kind,
        own_user=backend.own_user,
        outer_id=_outer_id(),
        argv=[python if name == "python" else name, *rest],
        environment=environment() | ({"HOME": work, "TMPDIR": work} if loose else {}),
        work=work,
        binds=shown.binds,
        devices=shown.devices,
        symlinks=shown.symlinks,
        masks=shown.masks,
        rlimits=limits.rlimits(backend.kind),
        processes=limits.processes,
        cpu_s=limits.cpu_s,
        wall_s=limits.wall_s,
        memory_bytes=limits.memory_bytes,
        disk_bytes=limits.disk_bytes,
        filter="" if loose else filter_for().hex(),
        files=list(program.files),
        keep=list(program.keep),
        keep_bytes=limits.disk_bytes if program.keep_bytes is None else program.keep_bytes,
        bubblewrap=backend.bubblewrap,
        python=python,
        nice=0,
        waits=False,
        group="" if loose else backend.group,
    )


def with_shown(visible: VisibleFiles, program: Program) -> VisibleFiles:
    """Return what a program sees of this machine, with what it is shown besides.

    Where one of its links takes the place of a folder that is visible, what is in that folder is
    seen only where the program is shown it.
    """
    kept = [bind for bind in visible.binds if not is_covered(bind[1], program.links)]
    targets = [target for _, target in kept]
    shown = [
        (source, target)
        for target, source in sorted(program.shows.items())
        if not is_covered(target, targets) and not any(is_covered(t, [target]) for t in targets)
    ]
    links = [
        (to, path)
        for path, to in sorted(program.links.items())
        if not is_covered(path, [*targets, *OWN])
    ]
    masks = [place_of(path, program) for path in visible.masks]
    return VisibleFiles(
        binds=sorted([*kept, *shown], key=lambda bind: bind[1]),
        devices=visible.devices,
        symlinks=[
            *(each for each in visible.symlinks if not is_covered(each[1], program.links)),
            *links,
        ],
        masks=[path for path in masks if is_covered(path, [*targets, *(t for _, t in shown)])],
    )


def place_of(path: str, program: Program) -> str:
    """Return where a program sees a file of this machine that one of its links would hide."""
    if is_covered(path, program.links):
        for target, source in program.shows.items():
            if is_covered(path, [source]):
                return target + path.removeprefix(source)
    return path


def _outer_id() -> int:
    """Return who the program is to the machine.

    A container may have root alone, who is some user outside: then the program is that one.
    """
    user = os.geteuid()
    return _NOBODY if user == 0 and _is_mapped("uid_map") and _is_mapped("gid_map") else user


def _is_mapped(name: str) -> bool:
    for line in Path("/proc/self", name).read_text().splitlines():
        first, _, count = map(int, line.split())
        if first <= _NOBODY < first + count:
            return True
    return False


async def _converse(
    launched: Launched, request: bytes, stdin: bytes, limits: SandboxLimits
) -> ProgramResult:
    """Hand over the program, and take what it writes and how it ended; then nothing is left."""
    output = _Output(limits.output_bytes)
    try:
        async with asyncio.timeout(limits.wall_s + _GRACE_S), asyncio.TaskGroup() as group:
            group.create_task(launched.say(request))
            group.create_task(launched.feed(stdin))
            group.create_task(launched.read("stdout", output.take))
            group.create_task(launched.read("stderr", output.take))
            answer = group.create_task(launched.answer())
    except TimeoutError:
        raise SandboxError("The sandbox's launcher did not end in time; it was killed.") from None
    finally:
        await asyncio.shield(launched.end())
    return _result(answer.result(), output)


def _result(answer: bytes, output: _Output) -> ProgramResult:
    try:
        header, blobs = unpack_from(io.BytesIO(answer).read)
    except EOFError:
        last = output.text("stderr").strip().rpartition("\n")[2]
        raise SandboxError(f"The sandbox's launcher died. {last}".strip(), LIMITS_HINT) from None
    report = cast("LauncherReport", header)
    if "error" in report:
        error = report["error"]
        fix = LIMITS_HINT if error.startswith(_OUT_OF) else ""
        raise SandboxError(f"The sandbox could not be made: {error}.", fix)
    status = report["status"]
    exceeded = report["exceeded"] or ("output" if output.overflowed else None)
    return ProgramResult(
        exit_code=os.WEXITSTATUS(status) if os.WIFEXITED(status) else None,
        signal=os.WTERMSIG(status) if os.WIFSIGNALED(status) else None,
        stdout=output.text("stdout"),
        stderr=output.text("stderr"),
        exceeded=exceeded,
        duration_s=report["duration_s"],
        files=dict(zip(report["files"], blobs, strict=True)),
        kind=report["kind"],
    )


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
def prestarted(backend: SandboxBackend, program: Program, limits: SandboxLimits) -> Generator[None]:
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
            if (unused := _taken(wanted)) is not None:
                unused.launched.end_now()


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
            return  # Its user gets the error.
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
