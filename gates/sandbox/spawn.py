"""The parent's side of a run: starts the launcher, feeds it, bounds what comes back."""

from __future__ import annotations

import asyncio
import io
import os
import socket
import sys
import tempfile
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import cast

from ...errors import InputError, SandboxError
from .launcher.wire import BOOT, BackendKind, Config, LauncherReport, pack, unpack_from
from .program import Program, ProgramResult, SandboxLimits, refuse_bad_paths
from .seccomp import filter_for
from .visible_files import WORK, VisibleFiles, environment, find_visible_files, interpreter

__all__ = ["SandboxBackend", "run_on"]

# Who the program is to the machine where we are root: the user that owns nothing.
_NOBODY = 65534
# What the launcher gets beyond the program's time, for its start and its end.
_GRACE_S = 60.0
_PATIENCE_S = 10.0
_CHUNK = 1 << 16
_CODE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "launcher")


@dataclass(frozen=True, slots=True)
class SandboxBackend:
    """How programs are isolated here; `own_user` is whether a user namespace must come first."""

    kind: BackendKind
    own_user: bool = False
    bubblewrap: str = ""


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
        async with _launcher() as launcher:
            return await _converse(launcher, pack(config, blobs), program, limits)


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
    refuse_bad_paths([*program.files, *program.keep])
    size = sum(map(len, program.files.values()))
    if size > limits.disk_bytes:
        raise InputError(
            f"The program's files have {size} bytes; its folder has room for {limits.disk_bytes}.",
            "Give it fewer files, or raise SandboxLimits.disk_bytes.",
        )


def _config(backend: SandboxBackend, program: Program, limits: SandboxLimits, work: str) -> Config:
    name, *rest = program.argv
    loose = backend.kind == "limits-only"
    shown = VisibleFiles([], [], [], []) if loose else find_visible_files()
    return Config(
        kind=backend.kind,
        own_user=backend.own_user,
        outer_id=_NOBODY if os.geteuid() == 0 else os.geteuid(),
        argv=[interpreter() if name == "python" else name, *rest],
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
        bubblewrap=backend.bubblewrap,
        python=interpreter(),
        nice=0,
    )


@dataclass(frozen=True, slots=True)
class _Launcher:
    """A running launcher and what we say to it and hear of it."""

    process: Process
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    def hang_up(self) -> None:
        """Tell the launcher that the program is to end; it can still answer."""
        if self.writer.can_write_eof():
            self.writer.write_eof()

    async def end(self) -> None:
        """Have it end everything; kill it, and everything by that, if it takes long."""
        self.writer.close()
        try:
            async with asyncio.timeout(_PATIENCE_S):
                await self.process.wait()
        except TimeoutError:
            self.process.kill()
            await self.process.wait()


@asynccontextmanager
async def _launcher() -> AsyncGenerator[_Launcher]:
    """Start a launcher on one end of a socket pair; end it, and all it started, at the end."""
    ours, theirs = socket.socketpair()
    with theirs:
        reader, writer = await asyncio.open_connection(sock=ours)
        words = [_CODE, "outer", str(theirs.fileno())]
        try:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-I", "-S", "-B", "-c", BOOT, *words),
                stdin=PIPE,
                stdout=PIPE,
                stderr=PIPE,
                pass_fds=(theirs.fileno(),),
                env={},
                cwd="/",
            )
        except BaseException:
            # A launcher that did start sees the end of this line, and ends.
            writer.close()
            raise
    launcher = _Launcher(process, reader, writer)
    try:
        yield launcher
    finally:
        await asyncio.shield(launcher.end())


async def _converse(
    launcher: _Launcher, request: bytes, program: Program, limits: SandboxLimits
) -> ProgramResult:
    """Hand over the program, and take what it writes and how it ends."""
    output = _Output(limits.output_bytes)
    process = launcher.process
    if not (process.stdin and process.stdout and process.stderr):
        raise SandboxError("The sandbox's launcher has no streams.")
    try:
        async with asyncio.timeout(limits.wall_s + _GRACE_S), asyncio.TaskGroup() as group:
            launcher.writer.write(request)
            group.create_task(_feed(process.stdin, program.stdin))
            group.create_task(_read("stdout", process.stdout, output, launcher))
            group.create_task(_read("stderr", process.stderr, output, launcher))
            answer = group.create_task(_answer(launcher.reader))
    except TimeoutError:
        raise SandboxError("The sandbox's launcher did not end in time; it was killed.") from None
    return _result(answer.result(), output)


async def _feed(stdin: asyncio.StreamWriter, data: bytes) -> None:
    try:
        stdin.write(data)
        await stdin.drain()
    except OSError:  # The program doesn't read it.
        return
    finally:
        stdin.close()


async def _read(
    name: str, stream: asyncio.StreamReader, output: _Output, launcher: _Launcher
) -> None:
    """Read to the end, which comes soon where the output has become too much."""
    while chunk := await stream.read(_CHUNK):
        if not output.take(name, chunk):
            launcher.hang_up()


async def _answer(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.read()
    except OSError:  # The launcher died with our words unread.
        return b""


def _result(answer: bytes, output: _Output) -> ProgramResult:
    try:
        header, blobs = unpack_from(io.BytesIO(answer).read)
    except EOFError:
        stderr = output.text("stderr").strip()
        raise SandboxError(f"The sandbox's launcher died. {stderr}".strip()) from None
    report = cast("LauncherReport", header)
    if "error" in report:
        raise SandboxError(f"The sandbox could not be made: {report['error']}.")
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
