"""Programs for the sandbox, and the launcher that starts them."""

from __future__ import annotations

import asyncio
import math
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import IO, Any

from ...errors import InputError, SandboxError
from .launcher.wire import BOOT, BackendKind, Exceeded

__all__ = [
    "LIMITS_HINT",
    "Launched",
    "Program",
    "ProgramResult",
    "SandboxLimits",
    "launch",
    "refuse_bad_paths",
    "refuse_files",
]


LIMITS_HINT = (
    "See what this process may have: ulimit -a (open files, user processes, memory, file size)."
)

_PATIENCE_S = 10.0
_CHUNK = 1 << 16
_CODE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "launcher")


class Launched:
    """A running launcher and the pipes to and from it."""

    def __init__(self, process: subprocess.Popen[bytes], line: socket.socket) -> None:
        self._process = process
        self._line = line

    @property
    def runs(self) -> bool:
        """Whether it hasn't ended by itself."""
        return self._process.poll() is None

    async def say(self, words: bytes) -> None:
        """Say something to the launcher."""
        try:
            await asyncio.get_running_loop().sock_sendall(self._line, words)
        except OSError:  # It is gone; what it answered says more.
            return

    async def answer(self) -> bytes:
        """Return all that the launcher says, to its end."""
        loop, data = asyncio.get_running_loop(), bytearray()
        try:
            while chunk := await loop.sock_recv(self._line, _CHUNK):
                data += chunk
        except OSError:  # It died with our words unread.
            return bytes(data)
        return bytes(data)

    async def feed(self, data: bytes) -> None:
        """Write the program's input, and close it."""
        pipe, remaining = _pipe(self._process.stdin), memoryview(data)
        try:
            while remaining:
                try:
                    remaining = remaining[os.write(pipe.fileno(), remaining[:_CHUNK]) :]
                except BlockingIOError:
                    await _ready(pipe, asyncio.get_running_loop().add_writer)
        except OSError:  # The program doesn't read it.
            return
        finally:
            pipe.close()

    async def read(self, name: str, take: Callable[[str, bytes], bool]) -> None:
        """Read an output stream to its end, which comes soon where `take` says it is enough."""
        pipe = _pipe(self._process.stdout if name == "stdout" else self._process.stderr)
        while True:
            try:
                chunk = os.read(pipe.fileno(), _CHUNK)
            except BlockingIOError:
                await _ready(pipe, asyncio.get_running_loop().add_reader)
                continue
            if not chunk:
                return
            if not take(name, chunk):
                self.hang_up()

    def hang_up(self) -> None:
        """Tell the launcher that the program is to end; it can still answer."""
        try:
            self._line.shutdown(socket.SHUT_WR)
        except OSError:  # It is gone.
            return

    async def end(self) -> None:
        """Have it end everything; kill it, and everything by that, if it takes long."""
        self.hang_up()
        try:
            async with asyncio.timeout(_PATIENCE_S):
                await self.answer()
        except (TimeoutError, asyncio.CancelledError) as error:
            # A loop that is being closed cancels this too, and nobody comes after it.
            self._process.kill()
            if isinstance(error, asyncio.CancelledError):
                raise
        finally:
            self._close()

    def end_now(self) -> None:
        """Have a launcher end whose program only waits, and wait for that."""
        self.hang_up()
        self._close()

    def _close(self) -> None:
        # The end of its line was the last that it did.
        try:
            self._process.wait(_PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr, self._line):
            if stream is not None:
                stream.close()


def launch(first: bytes = b"") -> Launched:
    """Start a launcher and send it a few words immediately; raises SandboxError on failure."""
    with ExitStack() as stack:
        try:
            ours, theirs = map(stack.enter_context, socket.socketpair())
            process = _start(theirs)
        except (OSError, MemoryError) as problem:
            reason = getattr(problem, "strerror", None) or "there is no memory for it"
            raise SandboxError(
                f"The sandbox's launcher can't be started: {reason}.", LIMITS_HINT
            ) from None
        stack.pop_all()
        theirs.close()
    if first:
        ours.sendall(first)
    ours.setblocking(False)
    for stream in (process.stdin, process.stdout, process.stderr):
        os.set_blocking(_pipe(stream).fileno(), False)
    return Launched(process, ours)


def _start(line: socket.socket) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603
        [sys.executable, "-I", "-S", "-B", "-c", BOOT, _CODE, "outer", str(line.fileno())],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        pass_fds=(line.fileno(),),
        env={},
        cwd="/",
    )


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    if stream is None:
        raise SandboxError("The sandbox's launcher has no streams.")
    return stream


async def _ready(pipe: IO[bytes], add: Callable[..., Any]) -> None:
    """Wait until something can be read or written; `add` is the loop's method for that."""
    loop, found = asyncio.get_running_loop(), asyncio.Event()
    add(pipe.fileno(), found.set)
    try:
        await found.wait()
    finally:
        loop.remove_reader(pipe.fileno())
        loop.remove_writer(pipe.fileno())


_MIB = 1 << 20
_NOTHING: Mapping[str, bytes] = MappingProxyType({})
_NO_PATHS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class SandboxLimits:
    """What a program may use; times in seconds, sizes in bytes.

    `cpu_s` and `memory_bytes` are sums over all its processes; files in its folders count as
    memory. `processes` counts threads too. `disk_bytes` bounds each of its three folders and each
    file. `address_bytes` bounds each process's address space, `memory_bytes` where it is None.
    `output_bytes` bounds both streams together.
    """

    cpu_s: float = 10
    wall_s: float = 30.0
    memory_bytes: int = 512 * _MIB
    processes: int = 32
    open_files: int = 64
    disk_bytes: int = 32 * _MIB
    output_bytes: int = 256 << 10
    address_bytes: int | None = None

    def rlimits(self, kind: BackendKind) -> dict[str, tuple[int, int]]:
        """Return what the kernel itself enforces, soft and hard, by `resource`'s names."""
        cpu = math.ceil(self.cpu_s)
        address = self.address_bytes or self.memory_bytes
        found = {
            # At the soft limit a signal, at the hard one the end.
            "RLIMIT_CPU": (cpu, cpu + 1),
            "RLIMIT_AS": (address, address),
            "RLIMIT_NOFILE": (self.open_files, self.open_files),
            "RLIMIT_FSIZE": (self.disk_bytes, self.disk_bytes),
            "RLIMIT_STACK": (8 * _MIB, 8 * _MIB),
            "RLIMIT_CORE": (0, 0),
            "RLIMIT_MEMLOCK": (0, 0),
            "RLIMIT_MSGQUEUE": (0, 0),
            "RLIMIT_SIGPENDING": (256, 256),
            "RLIMIT_RTPRIO": (0, 0),
            "RLIMIT_NICE": (0, 0),
        }
        # Without a user namespace the kernel counts everything else of this user's: the launcher
        # adds that to the limit.
        if kind != "limits-only":
            found["RLIMIT_NPROC"] = (self.processes + 1, self.processes + 1)
        return found


@dataclass(frozen=True, slots=True)
class Program:
    """A command and the files it needs, by their path in the work folder, where it starts.

    `argv[0] == "python"` is this interpreter. `keep` names files of the work folder to hand back,
    of `keep_bytes` together, or of `disk_bytes` where that is None.
    `shows` are folders of this machine that it may read, by the paths that it sees them under, and
    `links` are links of its own, by their paths; neither is there without namespaces.
    """

    argv: tuple[str, ...]
    files: Mapping[str, bytes] = field(default_factory=lambda: _NOTHING)
    stdin: bytes = b""
    keep: tuple[str, ...] = ()
    keep_bytes: int | None = None
    shows: Mapping[str, str] = field(default_factory=lambda: _NO_PATHS)
    links: Mapping[str, str] = field(default_factory=lambda: _NO_PATHS)


@dataclass(frozen=True, slots=True)
class ProgramResult:
    """How a program ended: by `exit_code` or by `signal`.

    `exceeded` is the limit that was its end. Output is UTF-8 with replacements and may hold control
    characters. `files` lacks those of `keep` that are not regular files or don't fit into
    `keep_bytes` together, and is empty where a limit was the end. `kind` is the backend that
    isolated it.
    """

    exit_code: int | None
    signal: int | None
    stdout: str
    stderr: str
    exceeded: Exceeded | None
    duration_s: float
    files: Mapping[str, bytes]
    kind: BackendKind

    @property
    def succeeded(self) -> bool:
        """Whether it ended by itself, with exit code 0."""
        return self.exit_code == 0 and self.exceeded is None


def refuse_bad_paths(paths: Iterable[str]) -> None:
    """Raise InputError for a path that is not plainly below the work folder."""
    for path in paths:
        parts = path.split("/")
        if "\0" in path or any(part in ("", ".", "..") for part in parts):
            raise InputError(
                f"{path!r} is not a path below the sandbox's work folder.",
                "Name it relative to that, without '..' and without empty parts.",
            )


def refuse_files(paths: Iterable[str], size: int, room: int) -> None:
    """Raise InputError for a bad path, and for files that don't fit into the work folder."""
    refuse_bad_paths(paths)
    if size > room:
        raise InputError(
            f"The program's files have {size} bytes; its folder has room for {room}.",
            "Give it fewer files, or raise SandboxLimits.disk_bytes.",
        )
